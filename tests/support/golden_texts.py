"""What another program was asked, for its recorded answers, and is asked of Heed again."""

DOCUMENTS = {  # title and text
    "d0": ("Title", "a short one"),
    "d1": ("", "a text without title, of 12 numbers"),
    "d2": ("The river", "only documents that name a river " * 120),  # longer than any of the tiny models reads
}
ASKED = [  # query and instruction
    ("is it heavy", "only documents that name a river"),
    ("is it light?", "with numbers 12, and yes or no"),
]
