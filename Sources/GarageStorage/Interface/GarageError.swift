public import Foundation

/// What went wrong in a garage, with the remedy in its description.
///
/// Errors that code of the stored types throws while it encodes or decodes itself are passed on as they are, but for
/// `EncodingError` and `DecodingError`: they come as ``undecodable(_:_:_:)`` and ``unencodable(_:_:_:)``, which name
/// the object. Newer versions may add cases: keep a `default`.
public enum GarageError: Error, Sendable {
  /// There is no parked object of the type with the identifier, where there has to be one: to delete it, or to ask for
  /// or set its sync status. Retrieving an object that is not there is no error.
  case failedToRetrieveObject(String, String)

  /// An object of the type is to be a root, and is neither `Identifiable` nor `Hashable`.
  case missingConformance(String)

  /// The type's identifier, whose type is named, is neither a `String`, nor a `UUID`, nor `LosslessStringConvertible`.
  case unsupportedIDConformance(String)

  /// The object's record holds no content. The record is kept.
  case storageDataIsNil(String)

  /// An object points to one of the named type and identifier, which is not parked. The path says which object does.
  case missingReference(String, String, path: String)

  /// Objects that are plain properties of each other: none of them can be made before the others are. The path leads
  /// from the first object through its properties back to it. The objects are kept.
  case cycle(path: String)

  /// Objects are nested too deeply in plain properties. The path leads to the depth that is too much.
  case nestedTooDeeply(path: String)

  /// What is stored under the type and the identifier cannot be read as the type that is asked for. It is kept.
  case undecodable(String, String, any Error)

  /// The object of the type cannot be encoded. Nothing was parked.
  case unencodable(String, String, any Error)

  /// What is stored for the type and the identifier is damaged, for the reason given. It is kept. The identifier is empty
  /// where it is not known.
  case damaged(String, String, String)

  /// The garage, or the named object in it, is encrypted, and there is no ``Garage/dataEncryptionDelegate``.
  case missingEncryptionDelegate(String)

  /// The mapping of the type lacks something, or has something that cannot be.
  case invalidMapping(String, String)

  /// The objects cannot be given the new type's name, for the reason given. Nothing was changed.
  case migrationConflict(String)

  /// The store cannot be opened, for the reason given.
  case invalidStore(String)

  /// LMDB or the file system failed. Nothing was changed; what waits for ``Garage/save()`` still waits.
  case storageFailed(any Error)
}

extension GarageError: CustomNSError {
  /// "GarageStorage".
  public static var errorDomain: String { "GarageStorage" }

  public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }
}

extension GarageError: LocalizedError {
  public var errorDescription: String? { description }
}

extension GarageError: Equatable {
  /// Errors beneath are equal if their descriptions are.
  public static func == (one: GarageError, other: GarageError) -> Bool {
    one.description == other.description && one.errorCode == other.errorCode
  }
}
