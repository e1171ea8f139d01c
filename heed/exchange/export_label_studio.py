"""A pool as Label Studio's tasks, with the labelling configuration that shows them."""

from pathlib import Path
from xml.sax.saxutils import quoteattr

from heed.exchange.export_json import json_list
from heed.exchange.exported_pool import GRADES, ExportedPool, open_export, tasks
from heed.io.files import write_bytes
from heed.progress import log

CHOICE = "grade"  # name of the choices, by which judgements are found in Label Studio's results
LARGEST = 250 * 1024 * 1024  # bytes; DATA_UPLOAD_MAX_MEMORY_SIZE of Label Studio 1.23, core/settings/base.py

# plaintext: each line has the direction of its first strong letter, so that Persian documents
# under an English query are set from the right. Label Studio 1.23 puts each line into an inline span
# before a <br>; as a block it can have a direction and keeps its height when empty.
STYLE = (
    ".heed * { unicode-bidi: plaintext; text-align: start; white-space: pre-wrap; } "
    ".heed span { display: block; min-height: 1.2em; } .heed br { display: none; }"
)
INSTRUCTION = '    <Text name="instruction" value="$instruction" valueType="text" selectionEnabled="false"/>\n'
CONFIGURATION = """<View>
  <Style>{style}</Style>
  <View className="heed">
    <Header value="$query" size="3"/>
{instruction}    <Header value="$title" size="4"/>
    <Text name="text" value="$text" valueType="text" selectionEnabled="false"/>
  </View>
  <Choices name="{choice}" toName="text" choice="single" required="true" showInline="true">
{choices}
  </Choices>
</View>
"""


def write_label_studio(path: Path, exported: ExportedPool) -> None:
    """Write the tasks as a JSON list, and the labelling configuration beside them as ``….xml``.

    Each task's ``data`` holds all fields of :class:`~heed.exchange.exported_pool.Task`; Label Studio
    returns them with its results. Imported by Label Studio 1.23.2.
    """
    with open_export(path) as stream:
        stream.writelines(json_list({"data": task._asdict()} for task in tasks(exported)))
    configuration = path.with_suffix(".xml")
    write_bytes(configuration, _configuration(exported.condition).encode())
    log.info(f"{configuration}: paste it under Settings, Labeling Interface, Code, before {path.name} is imported")
    size = path.stat().st_size
    if size > LARGEST:
        log.info(
            f"{path}: {size / 2**20:.0f} MiB; Label Studio takes {LARGEST // 2**20} MiB at once: export fewer topics"
        )


def _configuration(condition: str) -> str:
    choices = "\n".join(
        f'    <Choice value={quoteattr(f"{grade}: {meaning}")} alias="{grade}" hotkey="{grade}"/>'
        for grade, meaning in GRADES.items()
    )
    instruction = "" if condition == "query" else INSTRUCTION
    return CONFIGURATION.format(style=STYLE, instruction=instruction, choice=CHOICE, choices=choices)
