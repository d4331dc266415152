public import Foundation

/// A type that is parked separately: it encodes itself and has an identifier.
///
/// A shorthand for `Codable & Identifiable`; a type that conforms to both is treated the same, and its identifier may
/// also be a `UUID`. Nested values of such a type are parked separately, and their owner points to them.
public protocol Mappable: Codable, Identifiable where ID: LosslessStringConvertible {}

/// A type whose sync status the garage stores.
///
/// The status is stored next to the object: parking takes it from the property, retrieving sets the property, and
/// ``Garage/setSyncStatus(_:for:)`` changes it without parking. Omit the property from the type's `CodingKeys`.
public protocol Syncable {
  var syncStatus: SyncStatus { get set }
}

/// An object's state relative to a web service.
public enum SyncStatus: Int, Sendable, CaseIterable, Codable {
  /// Not determined: the initial status of objects that are not ``Syncable``.
  case undetermined
  /// The service does not have it yet.
  case notSynced
  /// It is being sent.
  case syncing
  /// The service has it.
  case synced
}

/// Encrypts objects before they are stored, and decrypts them.
///
/// Covers each object's JSON. Type names, identifiers and sync statuses stay readable, because objects are found by
/// them. A content identifier is a digest, which can confirm a guess of the content.
///
/// Called on the threads that use the garage, concurrently if it is used so, and on the garage's own threads for long
/// chains of objects. It must not use the garage.
public protocol DataEncryptionDelegate: AnyObject {
  /// Returns the encrypted form of an object's JSON. Its error becomes that of the parking.
  func encrypt(_ data: Data) throws -> String

  /// Returns the decrypted JSON. Its error becomes that of the retrieval.
  func decrypt(_ string: String) throws -> Data
}

/// The location and options of a garage's store.
///
/// Do not change it while a garage is being created from it.
public final class PersistentStoreDescription {
  /// The kind of a store.
  public enum StoreType: Sendable {
    /// A directory with an LMDB environment. Every save is durable.
    case durable
    /// Memory of this garage alone, for tests.
    case inMemory
  }

  /// The directory, which must be empty or a garage's, and is created if missing. `nil` for a store in memory.
  public var url: URL?

  public var type: StoreType

  /// Initial bytes of address space for a durable store, at least 1 MiB; grows as needed. Takes no disk space until
  /// used.
  public var mapSize = 1 << 34

  /// A durable store in a directory.
  public init(url: URL) {
    self.url = url
    type = .durable
  }

  private init(type: StoreType) { self.type = type }

  /// A store in memory, separate for each garage.
  public static var inMemory: PersistentStoreDescription { PersistentStoreDescription(type: .inMemory) }
}

#if !canImport(CoreData)
  /// The original's name in its examples, where Core Data does not define it.
  public typealias NSPersistentStoreDescription = PersistentStoreDescription
  public let NSSQLiteStoreType = PersistentStoreDescription.StoreType.durable
  public let NSInMemoryStoreType = PersistentStoreDescription.StoreType.inMemory
#endif
