import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(FOLDER.parents[1] / "tests")]
