public import Foundation

/// Changes the archived bytes of values on their way to the disk, and back: compression, encryption.
///
/// A cache applies its transforms in the order of ``CacheConfiguration/valueTransforms``, and undoes them in reverse.
/// Each record names its transforms; when it is read, the list must contain them in any order. The memory tier holds
/// plain values.
///
/// The functions are called on any reading or writing thread, concurrently, without a lock.
public protocol ValueTransform: Sendable {
  /// Identifies it in records: 128 … 255 for custom transforms; part of the file format. 1 … 127 belong to this
  /// package, and a cache does not open with a custom transform in that range.
  var identifier: UInt8 { get }

  /// Whether every value must have gone through it; false by default. If true, other values are
  /// ``CacheError/Code/untransformed``, and ``apply(to:_:)`` must not return `nil`.
  ///
  /// Require transforms that protect values, such as encryption; otherwise anyone who can write to the files could
  /// replace protected values.
  var isRequired: Bool { get }

  /// Returns the changed bytes, or `nil` to skip this transform for the value.
  func apply(to bytes: Data, _ context: ValueTransformContext) throws -> Data?

  /// Undoes ``apply(to:_:)``. The bytes may be forged: it must throw rather than trap, and return at most
  /// ``ValueTransformContext/maximumLength`` bytes.
  func restore(_ bytes: Data, _ context: ValueTransformContext) throws -> Data
}

protocol PackagedTransform: ValueTransform {}

extension ValueTransform {
  public var isRequired: Bool { false }
}

/// The entry's data for a transform.
public struct ValueTransformContext: Sendable {
  public let key: String
  /// The key, the header's format, expiry, cost, tags and creation, and the transforms up to this one. An authenticated
  /// cipher that includes it detects values with another key, a longer life or a stripped transform.
  public let authenticatedData: Data
  /// The maximum length of a restored value, in bytes.
  public let maximumLength: Int
}
