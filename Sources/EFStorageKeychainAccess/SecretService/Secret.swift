/// Secret bytes in libsecret's memory, which is not paged out as far as the limit on locked memory
/// (`ulimit -l`) allows, and is overwritten when it is released.
// Sendable: never changed after init, and its reference count is atomic.
final class Secret: @unchecked Sendable {
  let value: OpaquePointer

  /// Copies the bytes.
  init(copying bytes: UnsafeRawBufferPointer, contentType: ContentType) {
    value = Calls.makeSecret(bytes, contentType: contentType.rawValue)
  }

  /// Takes over the caller's reference.
  init(owning value: OpaquePointer) { self.value = value }

  deinit { Calls.releaseSecret(value) }

  /// The bytes are valid in the closure alone.
  func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    defer { withExtendedLifetime(self) {} }
    return try body(Calls.bytes(ofSecret: value))
  }
}

extension Secret {
  /// What the service is told that the bytes are. Not every service remembers it.
  enum ContentType: String {
    case text = "text/plain"
    case data = "application/octet-stream"
  }
}
