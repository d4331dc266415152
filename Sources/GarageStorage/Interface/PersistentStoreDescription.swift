public import Foundation

/// The location and options of a garage's store.
///
/// Do not change it while a garage is being created from it.
public final class PersistentStoreDescription {
  /// The kind of a store.
  public struct StoreType: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public init(stringLiteral value: String) { rawValue = value }

    /// A directory with an LMDB environment. Every save is durable.
    public static let durable: StoreType = "durable"
    /// Memory of this garage alone, for tests.
    public static let inMemory: StoreType = "inMemory"
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
