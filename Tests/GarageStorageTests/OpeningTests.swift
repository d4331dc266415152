import Foundation
import LMDB
import Testing

@testable import GarageStorage

/// Checks on the directory before a file is mapped.
@Suite struct OpeningTests {
  let directory = GarageDirectory()

  // MARK: - Links

  /// A hard link may be another program's file.
  @Test(arguments: ["data.mdb", "lock.mdb", "garage-state"], [true, false])
  func onlyARegularFileOfOneNameIsOpened(name: String, isHard: Bool) throws {
    let files = FileManager.default
    let place = directory.url.appendingPathComponent(name)
    let other = GarageDirectory()
    try other.make()
    let second = other.url.appendingPathComponent("mine")
    try directory.fill()
    if isHard {
      try files.linkItem(at: place, to: second)
    } else {
      try files.moveItem(at: place, to: second)
      try files.createSymbolicLink(at: place, withDestinationURL: second)
    }
    try directory.expectRefusal(.linkedFile, saying: isHard ? "hard link" : name)
    try files.removeItem(at: isHard ? second : place)
    if !isHard { try files.moveItem(at: second, to: place) }
    try directory.expectWhole()
  }

  /// The garage holds the directory open, not its path.
  @Test func aRenamedDirectoryIsWrittenWhereItIs() throws {
    try directory.fill()
    let moved = GarageDirectory()
    let garage = directory.garage()
    #expect(try garage.retrieveAll(Pet.self).count == 400)
    try FileManager.default.moveItem(at: directory.url, to: moved.url)
    try directory.make()
    try garage.park(Pet(1_000))
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path) == [])
    #expect(try garage.retrieveAll(Pet.self).count == 401)
    // The directory itself may be a link.
    garage.close()
    try FileManager.default.removeItem(at: directory.url)
    try FileManager.default.createSymbolicLink(at: directory.url, withDestinationURL: moved.url)
    #expect(try directory.garage().retrieveAll(Pet.self).count == 401)
  }

  // MARK: - Other directories

  private func makeEnvironment(_ entries: [[UInt8]: [UInt8]]) throws {
    try directory.make()
    var options = Environment.Options()
    options.mapSize = 1 << 26
    let environment = try Environment.open(directory: directory.url.path, options: options)
    defer { environment.close() }
    let transaction = try environment.beginWrite()
    for (key, value) in entries {
      try key.withUnsafeBytes { key in try value.withUnsafeBytes { try transaction.put($0, forKey: key) } }
    }
    try transaction.commit()
  }

  private func write(_ text: String, to name: String) throws {
    try directory.make()
    try Data(text.utf8).write(to: directory.url.appendingPathComponent(name))
  }

  @Test(arguments: [
    ("processes.lock", "cache"), ("clean-exit", "cache"), ("journals", "cache"), ("letter.txt", "letter.txt"),
    ("data.mdb", ""), ("garage-state", "garage-state"),
  ])
  func anotherProgramsFileIsRefused(name: String, words: String) throws {
    let notes = "notes that are longer than a mark, and nothing of them may be lost by anyone"
    try write(name == "garage-state" ? notes : "no database", to: name)
    try directory.expectRefusal(.notAGarage, saying: words)
  }

  @Test func anotherProgramsDatabaseIsRefused() throws {
    try makeEnvironment([[1, 2]: [3]])
    try directory.expectRefusal(.notAGarage, saying: "another program's")
    try makeEnvironment([[0xff, UInt8(ascii: "m")]: [UInt8](repeating: 7, count: 112)])
    try directory.expectRefusal(.notAGarage, saying: "cache")
    // Also if it is damaged.
    try write("", to: "clean-exit")
    try Data(contentsOf: directory.data).prefix(5_000).write(to: directory.data)
    try directory.expectRefusal(.notAGarage, saying: "cache")
  }

  @Test func aGarageIsOneWhateverElseIsInIt() throws {
    // An empty environment becomes one.
    try directory.make()
    try Environment.open(directory: directory.url.path).close()
    try write("", to: ".DS_Store")
    try directory.fill()
    for name in ["notes", "processes.lock"] { try write("", to: name) }
    try directory.expectWhole()
    try FileManager.default.removeItem(at: directory.mark)
    try directory.expectWhole()
    // A backup of another garage is accepted.
    let other = GarageDirectory()
    try other.garage().park(Pet(7))
    try Data(contentsOf: other.data).write(to: directory.data)
    #expect(try directory.garage().retrieveAll(Pet.self).map(\.number) == [7])
  }

  @Test(
    arguments: [([2, 0, 0, 0], GarageError.Code.unsupportedVersion), ([0, 0, 0, 0], .notAGarage)]
      as [([UInt8], GarageError.Code)])
  func anotherFormatIsRefused(version: [UInt8], code: GarageError.Code) throws {
    try directory.fill()
    try makeEnvironment([GarageRecord.key: Array("LMDBGSR1".utf8) + version + [0, 0, 0, 0]])
    try directory.expectRefusal(code)
    // Also when only the record must be read.
    try directory.trustFile()
    try directory.expectRefusal(code)
    try makeEnvironment([GarageRecord.key: GarageRecord.bytes])
    try directory.expectWhole()
  }
}
