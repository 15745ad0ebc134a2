"""The face in its halves; `mnemolog.memory` puts them together."""
