/// A write to one of two composed places failed, or to both. A place without an error has the new content; one with an
/// error has the one before.
public struct EFStorageCompositionError: Error, CustomStringConvertible {
  public let first: (any Error)?
  public let second: (any Error)?

  public var description: String {
    switch (first, second) {
    case (let first?, let second?):
      "Neither of two composed storages was written: \(first) (first); \(second) (second)."
    case (let first?, nil):
      "The first of two composed storages was not written, and keeps what it had; the second was: \(first)"
    case (nil, let second?):
      "The second of two composed storages was not written, and keeps what it had; the first was: \(second)"
    case (nil, nil): "No error."
    }
  }
}
