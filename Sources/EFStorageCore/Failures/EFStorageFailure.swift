public import Foundation

/// A failed read or write, as every container reports it.
public struct EFStorageFailure: LocalizedError, Sendable {
  /// The operation that failed.
  public enum Kind: Sendable {
    /// The content could not be converted for the storage. Nothing was written.
    case conversion
    /// The storage could not write or remove it. The old content stays.
    case storage
    /// The stored content cannot be read as its type. It is kept.
    case loading
    /// The storage was damaged. The content is lost, or an older state was restored: see
    /// ``EFStorageFailure/underlying``.
    case loss
  }

  public let kind: Kind
  /// The kind, under the name that other errors of this package use.
  public var code: Kind { kind }
  public let key: String
  /// The names of the storage's and the content's types.
  public let storageType: String
  public let contentType: String
  /// The cause.
  public let underlying: any Error

  public init(_ kind: Kind, key: String, storage: Any.Type, content: Any.Type, underlying: any Error) {
    self.kind = kind
    self.key = key
    storageType = "\((storage as? any OptionalStorage.Type)?.storageType ?? storage)"
    contentType = "\(content)"
    self.underlying = underlying
  }
}

/// An optional storage is named like its wrapped type.
private protocol OptionalStorage {
  static var storageType: Any.Type { get }
}

extension Optional: OptionalStorage {
  static var storageType: Any.Type { Wrapped.self }
}

package protocol WholeStorageError: Error {}

extension EFStorageFailure: CustomStringConvertible {
  /// The failure, the content, and the remedy.
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
