/// How deeply values may be nested in one another through plain properties.
///
/// Encoding and decoding call themselves for each level. The limit keeps them within a stack of 512 KiB, the least that
/// platforms give to a thread.
enum Nesting {
  static let limit = 128
}
