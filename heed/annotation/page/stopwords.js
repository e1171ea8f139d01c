// Stopwords by language, with the words that narratives usually contain (relevant, document, mention …).

export const STOPWORDS = {
  en: `
    a about above after again against all also although am among an and another any are as at be because been before
    being below between both but by can cannot could did do does doing done down during each either else enough even
    every few for from further get give given had has have having he her here hers him his how however i if in into is
    it its itself just kind last least less like made make many may me mere merely might more most much must my need no
    nor not nothing of off often on once one only or other others our out over own part per rather really same say says
    shall she should since so some somebody something still such than that the their them then there these they thing
    things this those though through thus to together too two under unless until up upon us use used very want was way
    we well were what whatever when where whether which while who whom whose why will with within without would yes yet
    you your
    relevant irrelevant relevance document documents article articles report reports reported reporting text texts
    information topic topics subject describe describes described mention mentions mentioned mentioning discuss
    discusses discussed contain contains containing include includes included including exclude excludes excluded
    excluding count counts value find finds example instance say account accounts story stories item items`,
  ru: `
    а без более больше будет будто бы был была были было быть в вам вас весь во вот все всего всех всё вы где да даже
    для до его ее ей ему если есть еще ещё же за здесь и из или им их к как какая какие каких какой ко когда кого кто
    которая которого которое которой которую которые которых который которым которыми ли либо лишь между меня мне может
    можно мы на над надо нам нас не него нее нет ни них но ну о об один одна одного одно однако он она они оно от перед
    по под после при про раз с сам себя со так также такая такие таких такой там тем теми то того тоже той только том
    тому тот ту ты у уже хотя чего чем что чтобы чье эта эти этим этих это этого этой этом этот я
    документ документы документа документов документе документах релевантен релевантны релевантным релевантными
    релевантна релевантной нерелевантны нерелевантен статья статьи статей сообщение сообщения сообщений материал
    материалы материалов текст тексты текстов информация информации должен должны должно должна относится относятся
    считаются считается упоминание упоминания упоминается упоминаются например тема темы случае случаи найти`,
  fa: `
    و در به از که این آن ان را با برای است هست هستند بود بودند باشد باشند شد شدند شود شوند شده میشود میشوند کرد کردند
    کند کنند کرده میکند میکنند خواهد خواهند دارد دارند داشت داشته داشتند هم نیز یا تا اما ولی اگر هر هیچ همه چه چند
    چون چنین چنان همین همان بر بی پس پیش روی زیر بالا میان بین درباره دربارهٔ مورد یک دو سه ما شما او وی ایشان انها آنها
    انان آنان اینها خود دیگر بعد قبل نه نمی می باید نباید توان می‌توان میتوان فقط تنها حتی مانند مثل بیشتر کمتر بسیار
    ولو هنگام طور طی اینکه آنکه انکه زیرا نیست نیستند نشود نشوند جز غیر
    سند اسناد مرتبط نامرتبط گزارش گزارشها گزارشهایی مقاله مقالهها متن متنها خبر خبرها اطلاعات موضوع موضوعی اشاره
    پذیرفته شمرده محسوب ذکر بیان توصیف شرح یافتن دست کم دستکم نمونه ارزش`,
  zh: `
    的 了 和 是 在 与 及 或 也 都 而 且 但 为 以 于 对 被 把 从 到 由 向 其 该 此 这 那 有 无 不 未 等 所 之 并 又 就 还 如
    个 种 一 只 凡 若 须 应 可 将 使 让 给 得 地 着 过 们 他 她 它 我 你
    以及 或者 并且 而且 但是 如果 因为 所以 因此 由于 关于 对于 有关 相关 不相关 无关 文档 文章 报道 报告 新闻 内容 信息
    主题 应当 应该 必须 需要 须 可以 能够 不能 不得 不算 也算 算作 视为 属于 包括 包含 例如 比如 诸如 其他 其它 其中 这里
    这样 这些 那些 某些 一些 一个 一种 一次 一起 一律 只有 只是 只要 只算 仅仅 仅 单纯 涉及 提到 提及 说明 描述 介绍
    交代 讨论 查找 寻找 具体 情况 部分 至少 以上 以下 之一 方面 以外 除了 除外 没有 不是 仍然 仍 价值 较低 程度 简略
    顺带 什么 造成 引起 导致 发生 哪些 如何 怎样 是否 以便 为了 通过 根据 按照 进行 已经 曾经 正在 将要 凡是 均不 不含 自己 起来 出来`,
};
