import Foundation

@testable import GarageStorage

/// A garage's temporary directory, removed with the object.
final class GarageDirectory: Sendable {
  let url: URL

  init() {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("garage-test-\(UUID().uuidString)")
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func garage(mapSize: Int = 1 << 26) -> Garage {
    let description = PersistentStoreDescription(url: url)
    description.mapSize = mapSize
    return Garage(with: [description])
  }
}

enum Kind: CaseIterable {
  case durable
  case inMemory

  func with<R>(_ body: (Garage) throws -> R) throws -> R {
    switch self {
    case .durable:
      let directory = GarageDirectory()
      return try withExtendedLifetime(directory) { try body(directory.garage()) }
    case .inMemory: return try body(Garage(with: [.inMemory]))
    }
  }
}

extension Garage {
  /// Stores raw content without validation.
  func put(_ content: [UInt8], isEncrypted: Bool = false, type: Any.Type, _ identifier: String) throws {
    var changes = PendingChanges()
    changes.park(ObjectKey(TypeIdentity.of(type), identifier), content, isEncrypted: isEncrypted, nil)
    try change(changes)
  }

  func put(_ json: String, type: Any.Type, _ identifier: String) throws {
    try put(Array(json.utf8), type: type, identifier)
  }

  func content(_ type: Any.Type, _ identifier: String) throws -> String? {
    try read { try $0.record(ObjectKey(TypeIdentity.of(type), identifier)) }.map {
      String(decoding: $0.content, as: UTF8.self)
    }
  }

  var lmdb: LMDBStore { get throws { try store() as! LMDBStore } }
}
