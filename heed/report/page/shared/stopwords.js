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
  ar: `
    في من إلى على عن مع أن إن أو أي كل كما قد ثم حتى حول عند بين بعد قبل تحت فوق خلال هذا هذه ذلك تلك التي الذي
    الذين هو هي هم نحن لا لم لن ليس ليست غير إلا إذا كان كانت يكون تكون ما لكن بل لأن حيث فقط أيضا مثل وثيقة وثائق
    الوثيقة الوثائق مقال مقالات المقال المقالات نص نصوص تقرير تقارير صلة ذات يجب ينبغي المطلوب تذكر يذكر ذكر تتناول
    يتناول تصف يصف معلومات موضوع`,
  bn: `
    ও এবং বা কিন্তু যে যা যদি তবে এই সেই এটি তার তাদের আমি আমরা আপনি তিনি একটি এক করে করা হয় হয়েছে হবে ছিল থেকে
    জন্য সঙ্গে উপর মধ্যে না নয় শুধু আরও যেমন নথি প্রাসঙ্গিক প্রতিবেদন তথ্য বিষয় উল্লেখ`,
  da: `
    og i at det en et den til er som på de med han af for ikke der var mig sig men har om vi min havde ham hun nu
    over da fra du ud sin dem os op man hans hvor eller hvad skal selv her alle vil blev kunne ind når være kun også
    dokument dokumenter relevant relevante artikel artikler oplysninger omtaler`,
  de: `
    der die das den dem des ein eine einen einem einer eines und oder aber als am an auf aus bei bis da dass durch
    für gegen hat haben hier ich ihr ihre im in ist sind war wird werden kann können soll sollen sollte muss müssen
    darf man mit nach nicht kein keine keinen noch nur ob ohne sich sie so solche um unter uns vom von vor was wenn
    wer wie wir zu zum zur zwar über es er auch dokument dokumente dokumenten artikel bericht berichte text texte
    relevant relevante irrelevant gesucht angaben information informationen thema erwähnt erwähnen nennt nennen
    beschreibt beschreiben behandelt behandeln gelten gilt zählen zählt beispiel`,
  el: `
    ο η το οι τα του της των τον την τους τις και ή αλλά σε στο στη στην στον στα στους στις από με για ως να θα δεν
    μη μην που ότι αν όταν είναι ήταν έχει έχουν ένα ένας μία μια κατά μετά πριν μόνο επίσης όπως αυτό αυτή
    αυτά έγγραφο έγγραφα σχετικό σχετικά άρθρο άρθρα πληροφορίες θέμα πρέπει αναφέρει`,
  es: `
    a al algo ante aquel aquellos como con cual de del desde donde dos el ella ellas ellos en entre era es esa ese
    eso esos esta estas este esto estos está están fue ha han hay la las le les lo los más me mi muy no nos o para
    pero por porque que quien se ser si sin sino sobre solo son su sus también tan todo todos todas un una uno unos
    y ya documento documentos artículo artículos texto textos informe informes relevante relevantes irrelevante debe
    deben menciona mencionan describe describen trata tratan información tema ejemplo`,
  fi: `
    ja on ei se että ne hän oli olla mutta tai kun niin joka jotka jos kuin myös vain vaan sekä en ole ovat tämä
    nämä tuo mitä mikä kuka siitä sen niiden hänen minä me te he koska asiakirja asiakirjat artikkeli raportti
    merkityksellinen relevantti tiedot aihe mainitsee kuvaa`,
  fr: `
    a afin ai au aux avec avoir ce ceci cela celle celles ces cet cette ceux chez comme d dans de des dont du elle
    elles en entre est et eu il ils j je l la le les leur leurs lui m ma mais me mes mon n ne ni nos notre nous on
    ont ou où par pas pour qu que quel quelle quels qui s sa sans se ses si son sont sous sur t te tous tout toute
    toutes très un une vers vos votre vous y à été être aussi seulement document documents article articles texte
    textes rapport rapports pertinent pertinents pertinente pertinentes doit doivent mentionne mentionnent décrit
    décrivent traite traitent information informations sujet exemple`,
  hi: `
    का के की को में से पर और या है हैं था थे थी हो होता होती होना कि जो यह वह ये वे इस उस इन उन एक ने भी तो ही नहीं
    न लिए तक साथ बारे कर करना करता करते किया गया जाता केवल यदि लेकिन दस्तावेज़ दस्तावेज प्रासंगिक लेख रिपोर्ट
    जानकारी विषय उल्लेख चाहिए`,
  hu: `
    a az egy és vagy de hogy nem is csak ha mint van volt lesz ez azt ezt aki ami amely amelyek ahol akkor már még
    meg ki be el fel le után alatt között szerint miatt minden sem se új dokumentum dokumentumok cikk releváns
    jelentés szöveg információ téma említ leír kell`,
  id: `
    yang dan di ke dari untuk dengan pada adalah itu ini atau tetapi tidak bukan juga akan telah sudah dalam oleh
    sebagai karena jika saya kami kita mereka dia ia ada bisa dapat harus hanya seperti antara lain para dokumen
    relevan artikel laporan informasi topik menyebutkan`,
  it: `
    a ad al alla alle ai agli allo anche che chi ci come con cui da dal dalla dai dalle de dei degli del della delle
    dello di e ed è era fra gli ha hanno i il in io la le lei lo loro lui ma mi ne nei nel nella nelle no noi non o
    per perché più quale quali quando quello questa questo questi se senza si sia solo sono su sua suo sul sulla
    sulle tra tutti un una uno vi documento documenti articolo articoli testo testi rilevante rilevanti pertinente
    pertinenti deve devono menziona descrive informazioni tema esempio`,
  ja: `
    の に は を た が で て と し れ さ ある いる も する から な こと として い や など なっ ない この ため その あっ よう また もの という あり まで られ なる へ か だ これ によって
    により おり より による なり られる において ば なかっ なく しかし について せ だっ その後 できる それ だけ ください です ます である 文書 記事 関連 情報 内容 対象 必要 不要 該当 説明 記述
    言及 報道 以外 除外`,
  ko: `
    이 그 저 것 수 등 및 또는 그리고 그러나 하지만 에서 에게 으로 대한 대해 관한 관련 위한 위해 있는 없는 하는 되는 한다 된다 있다 없다 아닌 아니라 경우 때 모든 어떤 같은 다른 문서 기사
    보고서 정보 내용 주제 언급 설명 해당 포함 제외`,
  nl: `
    de het een en van in op te dat die is zijn was ik je hij zij ze we wij u met voor niet geen er aan om als maar
    bij of door over uit naar tot ook heeft hebben had kan kunnen moet moeten mag worden wordt werd dan nog wat wie
    waar deze dit alleen zonder document documenten artikel artikelen verslag tekst teksten relevant relevante
    informatie onderwerp vermeldt beschrijft`,
  no: `
    og i at det en et den til er som på de med han av for ikke der var meg seg men har om vi min hadde ham hun nå
    over da fra du ut sin dem oss opp man hans hvor eller hva skal selv her alle vil ble kunne inn når være bare
    også dokument dokumenter relevant relevante artikkel artikler opplysninger omtaler`,
  pl: `
    i w z na do o że się nie to jest są był była było były być a ale lub oraz jak po za od przez dla przy który
    która które których którym czy tylko także też ten ta te tego tej tych co kto gdy jeśli już może można jego jej
    ich dokument dokumenty dokumentów artykuł artykuły istotny istotne informacje temat powinien powinny wspomina
    opisuje tekst raport`,
  pt: `
    a ao aos as com como da das de dela dele do dos e é ela elas ele eles em entre era essa esse esta este eu foi
    foram há isso isto já lhe mais mas me mesmo meu minha muito na nas nem no nos nossa nosso não o os ou para pela
    pelas pelo pelos por qual quando que quem se sem ser seu seus são só sua suas também tem têm um uma você
    documento documentos artigo artigos texto textos relatório relevante relevantes deve devem menciona descreve
    trata informação informações tema exemplo`,
  sv: `
    och i att det en ett den till är som på de med han av för inte där var mig sig men har om vi min hade honom hon
    nu över då från du ut sin dem oss upp man hans hur eller vad ska skall själv här alla vill blev kunde in när
    vara bara också dokument relevant relevanta artikel artiklar uppgifter rapport text ämne nämner`,
  sw: `
    na ya wa kwa ni za la katika cha vya si au lakini kama hii hiyo huu huo hizi hizo yake yao wake wao sana tu pia
    kuwa ambayo ambao hati husika makala ripoti taarifa habari mada`,
  te: `
    మరియు లేదా కానీ ఈ ఆ ఒక అది ఇది వారు మేము నేను కోసం తో నుండి వద్ద గురించి ఉంది ఉన్న ఉన్నాయి కాదు లేదు మాత్రమే
    కూడా పత్రం సంబంధిత నివేదిక సమాచారం అంశం`,
  th: `
    และ หรือ แต่ ที่ ซึ่ง อัน ใน จาก ของ เป็น คือ มี ได้ ให้ กับ แก่ ต่อ โดย เพื่อ ถ้า หาก ว่า ไม่ ก็ จะ นี้ นั้น
    เหล่า ต้อง ควร เฉพาะ เท่านั้น เอกสาร เกี่ยวข้อง บทความ รายงาน ข้อมูล เรื่อง กล่าวถึง การ ความ`,
  tr: `
    ve veya ya da de ile bir bu şu o için gibi kadar çok daha en ama fakat ancak değil ne ki mi mı mu mü olan olarak
    olmak oldu olduğu olmalıdır sadece yalnızca her bazı hem ise göre sonra önce belge belgeler ilgili makale
    makaleler rapor metin bilgi konu`,
  uk: `
    і й та в у на з із зі до від за про що як не але або чи це той ця ці які який яка яке яких для при по під над
    між через після є був була було були бути лише тільки також якщо коли він вона вони ми я документ документи
    документів релевантний релевантні стаття статті повідомлення інформація тема має повинен повинні`,
  vi: `
    và hoặc nhưng là của có các những một trong ở với cho từ đến được bị này đó khi nếu thì mà không chỉ cũng đã
    đang sẽ về như tại trên dưới do vì tài liệu liên quan bài báo cáo thông tin chủ đề cập phải`,
};
