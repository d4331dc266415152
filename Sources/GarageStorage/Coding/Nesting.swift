/// How deeply values may be nested in one another through plain properties.
///
/// Encoding and decoding call themselves for each level. In a release build the limit keeps them within a stack of 512 KiB,
/// the least that platforms give to a thread; in a debug build they may take eight times as much.
enum Nesting {
  static let limit = 128
}
