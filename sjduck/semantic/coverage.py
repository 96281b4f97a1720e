"""How much of what is said has a vector."""

from sjduck.archive import Row, View
from sjduck.index import prepare
from sjduck.semantic.place import NoModel, lack, model_id
from sjduck.snapshots import VectorFile
from sjduck.sqlfiles import sql


def coverage(view: View) -> Row | None:
    """Return the model, how many passages there are, how many are embedded, and what is lacking.

    None where nothing is embedded, and nothing here could do it.
    """
    files = [file for manifest in view.snapshot.manifests for file in manifest.vectors]
    lacking = lack(view.semantic)
    model = ""
    if lacking is None:
        try:
            model = model_id(view.semantic)
        except NoModel as error:
            lacking = str(error)
    if not files and not model:
        return None
    model = model or max(files, key=lambda file: file.rows).model
    own = [file for file in files if file.model == model]
    there = [file for file in own if _is_there(view, file)]
    prepare(view)
    if there:
        files_there = [str(view.snapshot.root / file.path) for file in there]
        view.table("embedded", sql("semantic/embedded"), files=files_there)
    else:
        view.table_of("embedded", {"content": "bigint"}, [])
    counted = view.rows(sql("semantic/coverage"))[0]
    return {
        "model": model,
        **counted,
        **({"damaged": len(own) - len(there)} if len(there) < len(own) else {}),
        **({"lacking": lacking} if lacking else {}),
    }


def _is_there(view: View, file: VectorFile) -> bool:
    try:
        return (view.snapshot.root / file.path).stat().st_size == file.bytes
    except OSError:
        return False
