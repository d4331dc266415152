/// A value of any type in memory.
// Sendable: immutable. Its value is Sendable, or one that the caller chose to share between threads by setting it.
struct CachedBox: @unchecked Sendable {
  let value: Any
}
