"""What never changes: for each golden file the SHA-256 of its bytes, and of the canonical JSON of what it decodes to today.

The second figure may only be written anew together with a new event version whose upcaster explains the difference."""

from __future__ import annotations

__all__ = ["DIGESTS"]

DIGESTS: dict[str, tuple[str, str]] = {
    "confirmation.given.v1": (
        "51fb2730699347974cc265bcb202f570b06f472ad4ef423646d6098dd97191e5",
        "fc22d369033faea0bd68b009db1df82ec1086b6c7c2ff6628ae704ba63dd5852",
    ),
    "correction.requested.v1": (
        "a76b554730a9a1995f8fc9d4c0a1e92c605b604f4ea7207f46a55db834336ac9",
        "f01df68dc8bde8f8d3dae240ebd5e8fb669adb60e6f8a16beea3e48ab5fd1259",
    ),
    "deadline.passed.v1": (
        "68e771e533caa0ccf05d95693f174035f109298bc78017460d44094cdec8eac0",
        "56dde56861a3fb6f2b244ac54fa43e22f99783cc54426521508625235da4296c",
    ),
    "decision.made.v1": (
        "4094657bb9d6379cc760ec702c7319e90a2e33fdd52b769495bd091a96b12aa1",
        "b70ff3baa42019f0c54e3b8e5b8d9fb2694aeaeba03ee59974f8e49dc2e478eb",
    ),
    "erasure.requested.v1": (
        "940911f1a7ceed5dd086cdd3cf2f78e25765c3c526ffb38e12e1becfb48fed4d",
        "fbda3c8cb5a41c85a71119cd9a4516b03953864d0b08c451f1fadfa6070bf170",
    ),
    "extraction.failed.v1": (
        "83354cedb4887ce55ac12e55dc765013974dee0367a8a7005b8cd683048d935d",
        "6786b5fdaf1d91afbd55752dae66f884e32ca53d3aad158b3b9c60c7687f16f2",
    ),
    "feedback.given.v1": (
        "95ce0e9cf3669c2c0e769ba9dfb3eddf9f10c2205951995458789146e32e97c7",
        "8b3772126360175bfba2fec0410a95e46158c8ee50b49074a714d99e3a182ee7",
    ),
    "input.rejected.v1": (
        "5ae8472c7c6098c249dd1c21e68e861119bc3fd0787a59bd82e53724578b563e",
        "f172d2f105e53de7f5c99edb357bdf82b9f631e31d45e36f472cd58fcb9c55f9",
    ),
    "memory.recalled.v1": (
        "6dc6bf27ca49b817c1946bf5bc3dcbc8b2038f5fc427f23029894c36bb096997",
        "7f5a0105bcf8e1aec1da6bd06d14b5885ec2b6d3d223da42a31b18be715f5712",
    ),
    "observation.recorded.v1": (
        "c40fab1974a0b927cd7bfb0710b8dd63fac8018716a3de662eedfd4435c72c5d",
        "631b11c507586d96423546f0d39e27527eaffc55ada97e8a1a62e134c98c507e",
    ),
    "reextract.requested.v1": (
        "b418d583817e835c68abbaff19e696e716f5e02063017209c9b20b6d4e15ade2",
        "a929626505a260d66a0521005d071c43de45f6169caadc6c9d50c6d66fc7878a",
    ),
    "retraction.requested.v1": (
        "2833ec41930bcb2961bb5d004270193a19874718addefcb386d2f2e10bad3976",
        "7e803b5c2114ab2ed0c914a5caa2a7bb3bafb4aa4d10dc9242ac0d30511bec70",
    ),
    "rollback.requested.v1": (
        "7d02f790ecd7159bb84d0bc91285f0e0c7688967f8c648a460969ffaceb86960",
        "5e39010ed35128279001b762ea45aa2df8bcf40aba2d10313921363390144ade",
    ),
    "session.ended.v1": (
        "22b334a771753c90c1329ac507e58159a1316a666aaf347e1d35d33c58a015d9",
        "9cbb78e3b67e67ce8bf502d5b10597a630ee00d310c8adc32a4f9b89981d83b3",
    ),
    "turn.recorded.v1": (
        "21eadd30e8703116c542cc5891c0c289b2b02b54a0049402e942631ce3222228",
        "e3a351ebaf4879c633b3959c2ce5f99807a95d2273b0bf270d84f3c35cfe517a",
    ),
    "turn.recorded.v2": (
        "dc48a8dfdb2266967f1d51b5ecab4768d4d4a428b400f35e1877b0d4a1ff731b",
        "19b3ad91963b74cd6eda60b0a1fa87a6f74696773c9a4823f64e54e8e6537a4f",
    ),
    "week.summarised.v1": (
        "b7ac3e27e5c90bcb0d1804486b9a1314cec41aedae06de49b38283545db99ace",
        "40a384c949886d731060e928173e6fad019c8bbc56d68ba99cc341669ecbb034",
    ),
}
