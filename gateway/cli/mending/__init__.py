"""What `bough doctor --fix` does besides `bough doctor`.

`looking` looks closer, `mender` mends what is safe, `cures` says how to mend the rest; a `fault` is
both.
"""
