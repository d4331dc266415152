public import Foundation

/// Where and how a garage keeps its objects.
///
/// Do not change it while a garage is being made of it.
public final class PersistentStoreDescription {
  /// The kind of a store.
  public struct StoreType: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public init(stringLiteral value: String) { rawValue = value }

    /// A directory with an LMDB environment. Every save waits for the disk.
    public static let durable: StoreType = "durable"
    /// Memory of this garage alone, for tests.
    public static let inMemory: StoreType = "inMemory"
  }

  /// The directory, which has to be a garage's or empty. It is made when the store is loaded if it is not there. It is `nil`
  /// for a store in memory.
  public var url: URL?

  public var type: StoreType

  /// Bytes of address space for a durable store, which grows beyond them when it has to. They take no disk space before
  /// they are used. At least 1 MiB.
  public var mapSize = 1 << 34

  /// A durable store in a directory.
  public init(url: URL) {
    self.url = url
    type = .durable
  }

  private init(type: StoreType) { self.type = type }

  /// A store in memory, of its own for each garage.
  public static var inMemory: PersistentStoreDescription { PersistentStoreDescription(type: .inMemory) }
}

#if !canImport(CoreData)
  /// The name in the original's examples, where Core Data has no other claim to it.
  public typealias NSPersistentStoreDescription = PersistentStoreDescription
  public let NSSQLiteStoreType = PersistentStoreDescription.StoreType.durable
  public let NSInMemoryStoreType = PersistentStoreDescription.StoreType.inMemory
#endif
