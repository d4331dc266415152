import Foundation
import Platform
import Testing

@testable import GarageStorage

/// What tests of a garage's files do to them.
extension GarageDirectory {
  var data: URL { url.appendingPathComponent("data.mdb") }
  var mark: URL { url.appendingPathComponent("garage-state") }

  /// Parks some pets and closes the garage.
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

  /// Opens the garage, which has to be refused, and leave everything as it is.
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

  func marked() throws -> StateMark? {
    guard let file = try opened().open(StateMark.name), case .mark(let mark) = try StateMark.read(file)
    else { return nil }
    return mark
  }

  /// Writes the mark anew for the file as it is, so that nothing is read before it is mapped.
  func trustFile() throws {
    guard let file = try opened().open(StateMark.name, .writing) else { throw CocoaError(.fileNoSuchFile) }
    try StateMark(isMade: true, state: DataFileState(in: opened())).write(to: file)
  }
}
