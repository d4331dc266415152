import Foundation
import LMDB
import Platform
import Synchronization
import Testing

@testable import GarageStorage

/// A garage's temporary directory, removed with the object.
final class GarageDirectory: Sendable {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent("garage-test-\(UUID().uuidString)")

  var data: URL { url.appendingPathComponent("data.mdb") }
  var mark: URL { url.appendingPathComponent("garage-state") }

  deinit { try? FileManager.default.removeItem(at: url) }

  func garage(mapSize: Int = 1 << 26) -> Garage {
    let description = PersistentStoreDescription(url: url)
    description.mapSize = mapSize
    return Garage(with: [description])
  }

  func make() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

  /// Parks 400 pets in a garage, and closes it.
  func fill() throws {
    let garage = garage()
    try garage.parkAll((0..<400).map { Pet($0, String(repeating: "x", count: $0 % 200)) })
    garage.close()
  }

  func expectWhole(sourceLocation: SourceLocation = #_sourceLocation) throws {
    #expect(try garage().retrieveAll(Pet.self).count == 400, sourceLocation: sourceLocation)
  }

  private func contents() throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: url.path) where name != "lock.mdb" {
      contents[name] = try? Data(contentsOf: url.appendingPathComponent(name))
    }
    return contents
  }

  /// Expects that opening fails and changes nothing.
  func expectRefusal(
    _ code: GarageError.Code, saying words: String = "", sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let before = try contents()
    for _ in 0..<2 {
      let error = failure { try garage().retrieveAll(Pet.self) }
      let text = String(describing: error)
      #expect(error?.code == code && (words.isEmpty || text.contains(words)), "\(text)", sourceLocation: sourceLocation)
      #expect(failure { try garage().park(Pet(1)) }?.code == code, sourceLocation: sourceLocation)
    }
    #expect(try contents() == before, sourceLocation: sourceLocation)
  }

  func opened() throws -> Directory { try Directory(path: url.path) }

  /// Marks the present data file as sound, so that opening skips the validation.
  func trustFile() throws {
    guard let file = try opened().open(GarageMark.name, .writing) else { throw CocoaError(.fileNoSuchFile) }
    try GarageMark(isMade: true, state: DataFileState(in: opened())).write(to: file)
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
  func put(_ content: [UInt8], isEncrypted: Bool = false, _ key: ObjectKey) throws {
    var changes = PendingChanges()
    changes.park(key, content, isEncrypted: isEncrypted, nil)
    try change(changes)
  }

  func put(_ json: String, type: Any.Type, _ identifier: String) throws {
    try put(Array(json.utf8), ObjectKey(TypeIdentity.of(type), identifier))
  }

  func content(_ type: Any.Type, _ identifier: String) throws -> String? {
    try read { try $0.record(ObjectKey(TypeIdentity.of(type), identifier)) }.map {
      String(decoding: $0.content, as: UTF8.self)
    }
  }

  var lmdb: LMDBStore { get throws { try store() as! LMDBStore } }

  /// The number of records that `body` reads.
  func reads(_ body: () throws -> Void) throws -> Int {
    let before = try lmdb.recordsRead.load(ordering: .relaxed)
    try body()
    return try lmdb.recordsRead.load(ordering: .relaxed) - before
  }
}

/// The garage's error that `body` throws, also within a `DecodingError`. `nil` for no error or a foreign one.
func failure<R>(of body: () throws -> R) -> GarageError? {
  do {
    _ = try body()
    return nil
  } catch {
    return GarageError(error)
  }
}

/// Not an encryption, but shows whether it was called.
final class Reversing: DataEncryptionDelegate {
  struct Refusal: Error {}
  var refuses = false

  func encrypt(_ data: Data) throws -> String {
    if refuses { throw Refusal() }
    return String(data.base64EncodedString().reversed())
  }

  func decrypt(_ string: String) throws -> Data {
    guard !refuses, let data = Data(base64Encoded: String(string.reversed())) else { throw Refusal() }
    return data
  }
}
