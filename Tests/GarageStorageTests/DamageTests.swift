import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import GarageStorage

/// Damaged files, and the mark of sound ones.
@Suite struct DamageTests {
  let directory = GarageDirectory()

  /// Changes a bit of a file.
  private func flip(_ file: URL, _ offset: Int, _ bits: UInt8 = 1) throws {
    var bytes = try Data(contentsOf: file)
    bytes[offset] ^= bits
    try bytes.write(to: file)
  }

  /// `nil` for a missing file. A torn mark does not hide that.
  @Test(arguments: [nil, 0, 0.1, 0.5, 0.9, 0.99] as [Double?], [false, true])
  func aFileThatWasCutOffIsAnErrorAndIsKept(part: Double?, isMarkTorn: Bool) throws {
    try directory.fill()
    let whole = try Data(contentsOf: directory.data)
    if isMarkTorn { try flip(directory.mark, 30) }
    if let part {
      try whole.prefix(Int(Double(whole.count) * part)).write(to: directory.data)
    } else {
      try FileManager.default.removeItem(at: directory.data)
    }
    try directory.expectRefusal(.damagedStore, saying: "backup")
    try whole.write(to: directory.data)
    try directory.expectWhole()
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

  // MARK: - The mark

  @Test func aMarkedFileIsNotRead() throws {
    try directory.fill()
    func reads() throws -> Int {
      let session = FaultInjection.begin(.directory(try directory.opened().path))
      defer { FaultInjection.end(session) }
      try directory.expectWhole()
      return FaultInjection.report(session).calls[.pread, default: 0]
    }
    let marked = try reads()
    try FileManager.default.removeItem(at: directory.mark)
    let unmarked = try reads()
    #expect(try marked < unmarked && reads() < unmarked)
  }

  enum Change: Sendable { case lost, zeros(Int), flip(Int, UInt8) }

  /// A file of another size is another program's.
  @Test(
    arguments: [
      (.lost, nil), (.zeros(0), nil), (.zeros(DataFileMark.size), nil), (.flip(20, 1), nil),
      (.flip(8, 1), .unsupportedVersion), (.zeros(5), .notAGarage), (.zeros(DataFileMark.size - 1), .notAGarage),
      (.zeros(DataFileMark.size + 1), .notAGarage),
    ] as [(Change, GarageError.Code?)])
  func aLostOrTornMarkIsMadeAnew(change: Change, code: GarageError.Code?) throws {
    try directory.fill()
    switch change {
    case .lost: try FileManager.default.removeItem(at: directory.mark)
    case .zeros(let size): try Data(count: size).write(to: directory.mark)
    case .flip(let offset, let bits): try flip(directory.mark, offset, bits)
    }
    if let code { return try directory.expectRefusal(code) }
    try directory.expectWhole()
  }
}
