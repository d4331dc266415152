public import Foundation

/// Changes the archived bytes of values on their way to the disk, and changes them back: compression, encryption.
///
/// A cache applies its transforms in the order of ``CacheConfiguration/valueTransforms``, and undoes them in reverse. Each
/// record says which were applied to it, so the list may change: what the list has at the time of reading must contain
/// those of the record, in any order. The memory tier holds values as they are.
///
/// Its functions are called on the thread that reads or writes, without a lock, from several threads at once.
public protocol ValueTransform: Sendable {
  /// What records know it by: 128 … 255 for your own; it is part of the file format. 1 … 127 are this package's, and a
  /// cache with a transform of your own that has one of those does not open.
  var identifier: UInt8 { get }

  /// Whether every value has to have gone through it: then a value that has not is not read, but
  /// ``CacheError/Code/untransformed``, and ``apply(to:_:)`` must not return `nil`. False if you do not say otherwise.
  ///
  /// Required is what protects values, such as encryption: who can write to the files could put a value of their own in
  /// place of a protected one.
  var isRequired: Bool { get }

  /// Returns the changed bytes, or `nil` to leave them as they are: then the record does not name this transform.
  func apply(to bytes: Data, _ context: ValueTransformContext) throws -> Data?

  /// Undoes ``apply(to:_:)``. The bytes may be anything that somebody wrote: it has to throw rather than trap, and must
  /// return at most ``ValueTransformContext/maximumLength`` bytes.
  func restore(_ bytes: Data, _ context: ValueTransformContext) throws -> Data
}

/// A transform of this package.
protocol PackagedTransform: ValueTransform {}

extension ValueTransform {
  public var isRequired: Bool { false }
}

/// What a transform knows of the entry.
public struct ValueTransformContext: Sendable {
  public let key: String
  /// The key, what the record's header says of format, expiry, cost, tags and creation, and the transforms that the
  /// value goes through up to this one, for an authenticated cipher: a value cannot be moved to another key, be made to live
  /// longer, or be read without what was done to it before.
  public let authenticatedData: Data
  /// The greatest length of a restored value, in bytes.
  public let maximumLength: Int
}
