public import Foundation

/// Something that could not be written or read, as every container reports it.
public struct EFStorageFailure: LocalizedError, Sendable {
  /// What failed.
  public enum Kind: Sendable {
    /// The content could not be turned into what the storage takes. Nothing was written.
    case conversion
    /// The storage could not write or remove it. What was stored is still there.
    case storage
    /// Something is stored and cannot be read as the content's type. It is kept.
    case loading
    /// The storage was damaged. What it had under the key, if anything, is gone, or an older state was restored: see
    /// ``EFStorageFailure/underlying``.
    case loss
  }

  public let kind: Kind
  /// The kind, by the name that other errors of this package have for it.
  public var code: Kind { kind }
  public let key: String
  /// The names of the storage's and the content's types.
  public let storageType: String
  public let contentType: String
  /// Why.
  public let underlying: any Error

  public init(_ kind: Kind, key: String, storage: Any.Type, content: Any.Type, underlying: any Error) {
    self.kind = kind
    self.key = key
    storageType = "\((storage as? any OptionalStorage.Type)?.storageType ?? storage)"
    contentType = "\(content)"
    self.underlying = underlying
  }
}

/// A storage that may not be there goes by its own name.
private protocol OptionalStorage {
  static var storageType: Any.Type { get }
}

extension Optional: OptionalStorage {
  static var storageType: Any.Type { Wrapped.self }
}

/// An error that concerns all keys of a storage.
package protocol WholeStorageError: Error {}

extension EFStorageFailure: CustomStringConvertible {
  /// What happened, to which content, and what can be done about it.
  public var message: String {
    switch kind {
    case .storage where underlying is any WholeStorageError:
      "\(storageType) cannot be written. Changes are kept in memory, and are written once that succeeds."
    case .loss where underlying is any WholeStorageError: "\(storageType) was damaged. Set what is needed again."
    case .conversion:
      "A \(contentType) cannot be stored in \(storageType) under \"\(key)\", which is unchanged. Set a value that can be."
    case .storage: "\(storageType) was not changed under \"\(key)\". Set it again when the storage works."
    case .loading:
      "What \(storageType) has under \"\(key)\" cannot be read as \(contentType); it is kept. Set or remove it, or read it "
        + "as what it is."
    case .loss:
      "\(storageType) was damaged, with what it had under \"\(key)\", if it had anything. Set what is needed again."
    }
  }

  public var errorDescription: String? { message }
  public var description: String { "\(kind): \(message) (\(underlying))" }
}
