import Foundation
import LMDB
import TestSupport
import Testing

@testable import GarageStorage

/// Damaged files, and the mark of sound ones.
@Suite struct DamageTests {
  let directory = GarageDirectory()

  // MARK: - Damage

  @Test(arguments: [0.0, 0.1, 0.5, 0.9, 0.99])
  func aFileThatWasCutOffIsAnErrorAndIsKept(part: Double) throws {
    try directory.fill()
    let whole = try Data(contentsOf: directory.data)
    let file = try FileHandle(forWritingTo: directory.data)
    try file.truncate(atOffset: UInt64(Double(whole.count) * part))
    try file.close()
    try directory.expectRefusal(.damagedStore, saying: "backup")
    try whole.write(to: directory.data)
    #expect(try directory.garage().retrieveAll(Pet.self).count == 400)
  }

  @Test(arguments: 0..<40)
  func aDamagedFileNeverEndsTheProcess(seed: Int) throws {
    try directory.fill()
    var random = SeededRandom(UInt64(seed))
    var bytes = [UInt8](try Data(contentsOf: directory.data))
    let page = 4_096
    for _ in 0...random.below(3) {
      let start = random.below(bytes.count / page) * page
      switch random.below(4) {
      case 0: bytes.replaceSubrange(start..<start + page, with: [UInt8](repeating: 0, count: page))
      case 1: bytes.replaceSubrange(start..<start + page, with: random.bytes(page))
      // The page's header and its entry offsets.
      case 2: bytes[start + random.below(64)] ^= 1 << random.below(8)
      default:
        let other = random.below(bytes.count / page) * page
        let (one, two) = (Array(bytes[start..<start + page]), Array(bytes[other..<other + page]))
        bytes.replaceSubrange(start..<start + page, with: two)
        bytes.replaceSubrange(other..<other + page, with: one)
      }
    }
    try Data(bytes).write(to: directory.data)
    do {
      let garage = directory.garage()
      for pet in try garage.retrieveAll(Pet.self) { _ = try garage.syncStatus(for: pet) }
      try garage.park(Pet(1_000))
    } catch {
      let error = try #require(GarageError(error))
      // A change within a value does not damage the database.
      #expect([.damagedStore, .damaged, .undecodable, .notAGarage, .storageDataIsNil].contains(error.code))
      if error.code == .damagedStore { #expect(try Data(contentsOf: directory.data) == Data(bytes)) }
    }
  }

  @Test func aMissingFileIsNotMadeAnew() throws {
    try directory.fill()
    let whole = try Data(contentsOf: directory.data)
    try FileManager.default.removeItem(at: directory.data)
    try directory.expectRefusal(.damagedStore, saying: "missing")
    try whole.write(to: directory.data)
    #expect(try directory.garage().retrieveAll(Pet.self).count == 400)
  }

  @Test func aTornMarkDoesNotHideThatTheFileIsMissing() throws {
    try directory.fill()
    var bytes = try Data(contentsOf: directory.mark)
    bytes[30] ^= 1
    try bytes.write(to: directory.mark)
    try FileManager.default.removeItem(at: directory.data)
    try directory.expectRefusal(.damagedStore, saying: "missing")
  }

  // MARK: - The mark

  @Test func everyCommitIsMarkedAsSound() throws {
    let garage = directory.garage()
    for number in 0..<5 {
      try garage.park(Pet(number))
      let marked = try #require(try directory.marked())
      #expect(marked.isMade)
      #expect(try marked.state == DataFileState(in: directory.opened()))
    }
    garage.close()
    #expect(try directory.marked()?.state == DataFileState(in: directory.opened()))
  }

  @Test func aMarkedFileIsNotRead() throws {
    try directory.fill()
    // Truncates the last page of a file that this process does not map.
    let environment = try Environment.open(directory: directory.url.path)
    let last = try environment.info().lastPageNumber
    environment.close()
    let file = try FileHandle(forWritingTo: directory.data)
    try file.truncate(atOffset: UInt64(last) * 4_096 + 1)
    try file.close()
    try directory.trustFile()
    #expect(throws: Never.self) { _ = try GarageOpening(directory.url.path).finish() }
    try file.reopenAndAppend(directory.data)
    #expect(throws: GarageError.self) { _ = try GarageOpening(directory.url.path).finish() }
  }

  @Test(arguments: [nil, 0, 5, DataFileMark.size - 1, DataFileMark.size, DataFileMark.size + 1])
  func aLostOrTornMarkIsMadeAnew(size: Int?) throws {
    try directory.fill()
    if let size {
      try Data(count: size).write(to: directory.mark)
      // With another size it is not a mark.
      if size != 0 && size != DataFileMark.size {
        return try directory.expectRefusal(.notAGarage, saying: "garage-state")
      }
    } else {
      try FileManager.default.removeItem(at: directory.mark)
    }
    #expect(try directory.garage().retrieveAll(Pet.self).count == 400)
    #expect(try directory.marked()?.state == DataFileState(in: directory.opened()))
  }

  @Test func aChangedMarkIsVoid() throws {
    try directory.fill()
    var bytes = try Data(contentsOf: directory.mark)
    bytes[20] ^= 1
    try bytes.write(to: directory.mark)
    #expect(try directory.garage().retrieveAll(Pet.self).count == 400)
    try directory.fill()
    bytes = try Data(contentsOf: directory.mark)
    bytes[8] = 3
    try bytes.write(to: directory.mark)
    try directory.expectRefusal(.unsupportedVersion, saying: "newer")
  }
}

extension FileHandle {
  fileprivate func reopenAndAppend(_ url: URL) throws {
    let file = try FileHandle(forWritingTo: url)
    try file.seekToEnd()
    try file.write(contentsOf: Data([0]))
    try file.close()
  }
}
