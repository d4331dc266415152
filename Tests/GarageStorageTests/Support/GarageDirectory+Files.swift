import Foundation
import LMDB
import Platform
import Testing

@testable import GarageStorage

extension GarageDirectory {
  var data: URL { url.appendingPathComponent("data.mdb") }
  var mark: URL { url.appendingPathComponent("garage-state") }

  func fill(_ count: Int = 400) throws {
    let garage = garage()
    try garage.parkAll((0..<count).map { Pet($0, String(repeating: "x", count: $0 % 200)) })
    garage.close()
  }

  func contents() throws -> [String: Data] {
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
      let error = #expect(throws: GarageError.self, sourceLocation: sourceLocation) {
        try garage().retrieveAll(Pet.self)
      }
      #expect(error?.code == code, sourceLocation: sourceLocation)
      #expect(
        words.isEmpty || error?.message.contains(words) == true, "\(error?.message ?? "")",
        sourceLocation: sourceLocation)
      #expect(throws: GarageError.self, sourceLocation: sourceLocation) { try garage().park(Pet(1)) }
    }
    #expect(try contents() == before, sourceLocation: sourceLocation)
  }

  func opened() throws -> Directory { try Directory(path: data.deletingLastPathComponent().path) }

  func marked() throws -> GarageMark? {
    guard let file = try opened().open(GarageMark.name) else { return nil }
    return try GarageMark(file, url.path)
  }

  /// Rewrites the mark for the present file, so that opening skips the validation.
  func trustFile() throws {
    guard let file = try opened().open(GarageMark.name, .writing) else { throw CocoaError(.fileNoSuchFile) }
    try GarageMark(isMade: true, state: DataFileState(in: opened())).write(to: file)
  }
}
