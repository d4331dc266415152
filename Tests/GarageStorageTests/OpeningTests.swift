import Foundation
import LMDB
import TestSupport
import Testing

@testable import GarageStorage

/// Checks on the directory before a file is mapped.
@Suite struct OpeningTests {
  let directory = GarageDirectory()

  // MARK: - Links

  enum Intruder: CaseIterable, Sendable { case link, hardLink, directory, fifo }

  /// A hard link may be another program's file.
  @Test(arguments: ["data.mdb", "lock.mdb", "garage-state"], Intruder.allCases)
  func onlyARegularFileOfOneNameIsOpened(name: String, intruder: Intruder) throws {
    let files = FileManager.default
    let place = directory.url.appendingPathComponent(name)
    let other = GarageDirectory()
    try files.createDirectory(at: other.url, withIntermediateDirectories: true)
    let second = other.url.appendingPathComponent("mine")
    switch intruder {
    case .link:
      try directory.fill()
      try files.moveItem(at: place, to: second)
      try files.createSymbolicLink(at: place, withDestinationURL: second)
    case .hardLink:
      try directory.fill()
      #expect(link(place.path, second.path) == 0)
    case .directory: try files.createDirectory(at: place, withIntermediateDirectories: true)
    case .fifo:
      try files.createDirectory(at: directory.url, withIntermediateDirectories: true)
      #expect(mkfifo(place.path, 0o600) == 0)
    }
    try directory.expectRefusal(.linkedFile, saying: intruder == .hardLink ? "hard link" : name)
    switch intruder {
    case .link:
      try files.removeItem(at: place)
      try files.moveItem(at: second, to: place)
    case .hardLink: try files.removeItem(at: second)
    case .directory, .fifo: return
    }
    #expect(try directory.garage().retrieveAll(Pet.self).count == 400)
  }

  /// The garage holds the directory open, not its path.
  @Test func aRenamedDirectoryIsWrittenWhereItIs() throws {
    try directory.fill()
    let moved = GarageDirectory()
    let garage = directory.garage()
    #expect(try garage.retrieveAll(Pet.self).count == 400)
    try FileManager.default.moveItem(at: directory.url, to: moved.url)
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
    try garage.park(Pet(1_000))
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path) == [])
    #expect(try garage.retrieveAll(Pet.self).count == 401)
    #expect(try moved.marked()?.state == DataFileState(in: moved.opened()))
  }

  @Test func theDirectoryMayBeALink() throws {
    try directory.fill()
    let other = GarageDirectory()
    try FileManager.default.createSymbolicLink(at: other.url, withDestinationURL: directory.url)
    #expect(try other.garage().retrieveAll(Pet.self).count == 400)
  }

  // MARK: - What is something else

  func makeEnvironment(_ entries: [[UInt8]: [UInt8]], maxDatabases: UInt32 = 0) throws {
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
    var options = Environment.Options()
    options.mapSize = 1 << 26
    options.maxDatabases = maxDatabases
    let environment = try Environment.open(directory: directory.url.path, options: options)
    defer { environment.close() }
    let transaction = try environment.beginWrite()
    for (key, value) in entries {
      try key.withUnsafeBytes { key in try value.withUnsafeBytes { try transaction.put($0, forKey: key) } }
    }
    try transaction.commit()
  }

  private func write(_ text: String, to name: String) throws {
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: directory.url.appendingPathComponent(name))
  }

  struct Foreign: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// A part of the error's message.
    let words: String
    let make: @Sendable (OpeningTests) throws -> Void

    init(_ description: String, _ words: String, make: @escaping @Sendable (OpeningTests) throws -> Void) {
      testDescription = description
      self.words = words
      self.make = make
    }

    static let cache: [[UInt8]: [UInt8]] = [[0xff, UInt8(ascii: "m")]: [UInt8](repeating: 7, count: 112), [1]: [2]]

    static let all: [Foreign] =
      ["processes.lock", "clean-exit", "journals"].map { name in
        Foreign("a cache's \(name)", "cache") { try $0.write("x", to: name) }
      } + [
        Foreign("a program's database", "another program's") { try $0.makeEnvironment([[1, 2]: [3]]) },
        Foreign("a cache's database", "cache") { try $0.makeEnvironment(cache) },
        Foreign("a damaged cache", "cache") { test in
          try test.makeEnvironment(cache)
          try test.write("", to: "clean-exit")
          let file = try FileHandle(forWritingTo: test.directory.data)
          try file.truncate(atOffset: 5_000)
          try file.close()
        },
        Foreign("a letter", "letter.txt") { try $0.write("x", to: "letter.txt") },
        Foreign("no database", "") { try $0.write("no database", to: "data.mdb") },
        Foreign("notes", "garage-state") {
          try $0.write(
            "notes that are longer than a mark, and nothing of them may be lost by anyone", to: "garage-state")
        },
      ]
  }

  @Test(arguments: Foreign.all) func anotherProgramsDirectoryIsRefused(_ foreign: Foreign) throws {
    try foreign.make(self)
    try directory.expectRefusal(.notAGarage, saying: foreign.words)
  }

  @Test func aNameThatIsNotTextIsSomebodysFile() throws {
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
    let path = Array(directory.url.path.utf8) + [UInt8(ascii: "/"), 0xff, 0xfe, 0]
    let descriptor = path.withUnsafeBufferPointer { path in
      path.withMemoryRebound(to: CChar.self) { open($0.baseAddress!, O_CREAT | O_RDWR, 0o600) }
    }
    #expect(descriptor >= 0)
    close(descriptor)
    let error = #expect(throws: GarageError.self) { try directory.garage().retrieveAll(Pet.self) }
    #expect(error?.code == .notAGarage)
    #expect(try directory.opened().names() == [])
    #expect(try !directory.opened().isEmpty())
  }

  @Test func aGarageIsOneWhateverACacheLeftInIt() throws {
    try directory.fill()
    try Data().write(to: directory.url.appendingPathComponent("processes.lock"))
    #expect(try directory.garage().retrieveAll(Pet.self).count == 400)
    try FileManager.default.removeItem(at: directory.mark)
    #expect(try directory.garage().retrieveAll(Pet.self).count == 400)
  }

  @Test func anEmptyEnvironmentBecomesAGarage() throws {
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
    try Environment.open(directory: directory.url.path).close()
    try Data().write(to: directory.url.appendingPathComponent(".DS_Store"))
    try directory.garage().park(Pet(1))
    try Data().write(to: directory.url.appendingPathComponent("notes"))
    #expect(try directory.garage().retrieveAll(Pet.self).count == 1)
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
    #expect(try directory.garage().retrieveAll(Pet.self).count == 400)
  }

  @Test func anotherGaragesFileIsAccepted() throws {
    try directory.fill()
    let other = GarageDirectory()
    try other.garage().park(Pet(7))
    try Data(contentsOf: other.url.appendingPathComponent("data.mdb")).write(to: directory.data)
    #expect(try directory.garage().retrieveAll(Pet.self).map(\.number) == [7])
  }

  @Test func aCutOffFileThatOthersHaveOpenIsAnError() throws {
    let other = try ChildProcess("GarageTestProcess", [directory.url.path])
    for number in 0..<20 { #expect(other.run("park \(number) \(String(repeating: "x", count: 4_000))") == "done") }
    let whole = try Data(contentsOf: directory.data)
    let file = try FileHandle(forWritingTo: directory.data)
    try file.truncate(atOffset: UInt64(whole.count / 2))
    try file.close()
    let error = #expect(throws: GarageError.self) { try directory.garage().retrieveAll(Pet.self) }
    #expect(error?.code == .damagedStore)
    other.kill()
  }

  // MARK: - A power cut

  /// Every new directory entry is synchronized before `park` returns.
  @Test func theDirectoriesAreOnTheDisk() throws {
    let root = GarageDirectory()
    try FileManager.default.createDirectory(at: root.url, withIntermediateDirectories: true)
    let garage = root.url.appendingPathComponent("data/app/People.garage")
    let log = root.url.appendingPathComponent("log")
    let process = try ChildProcess("GarageTestProcess", [garage.path])
    let answer = process.run("log \(root.url.path) \(log.path)")
    #if os(Linux)
      // Sanitizers disable the log.
      if Sanitizer.address.isActive || Sanitizer.thread.isActive { return }
      #expect(answer == "done")
    #else
      guard answer == "done" else { return }
    #endif
    #expect(process.run("park 1 a") == "done")
    let records = try LoggedWrite.read(log)
    process.kill()
    let rootPath = try #require(realpath(root.url.path, nil)).move()
    var made: [String] = []
    for (index, record) in records.enumerated() where record.makesName && !record.path.hasSuffix("/log") {
      made.append(String(record.path.dropFirst(rootPath.count)))
      let parent = URL(fileURLWithPath: record.path).deletingLastPathComponent().path
      let inode = try FileManager.default.attributesOfItem(atPath: parent)[.systemFileNumber] as? UInt64
      #expect(
        records[index...].contains { $0.isSynchronization && $0.file == inode }, "\(record.path) may not be there")
    }
    for name in ["/data", "/data/app", "/data/app/People.garage", "/data/app/People.garage/data.mdb"] {
      #expect(made.contains(name), "\(made)")
    }
  }
}

extension UnsafeMutablePointer<CChar> {
  fileprivate func move() -> String {
    defer { free(self) }
    return String(cString: self)
  }
}
