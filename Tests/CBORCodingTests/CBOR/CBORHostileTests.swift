import Foundation
import TestSupport
import Testing

@testable import CBORCoding

@Suite struct CBORHostileTests {
  /// Has every kind of container and value, so that any document reaches some of it.
  struct Everything: Codable, Equatable {
    var plain = PlainShape()
    var wide: WideShape? = WideShape()
    var optional = OptionalShape()
    var payloads = [PayloadShape.none, .one(1), .two(name: "n", PlainShape()), .more([.one(2)])]
    var dictionary = ["a": [1: "b"], "longer key": [:]]
    var date = Date(timeIntervalSinceReferenceDate: 800_000_000.123)
    var url = URL(string: "https://example.org")!
    var uuid = UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F")!
    var decimal = Decimal(string: "123456789012345678901234567890.5")!
    var data = Data([1, 2, 3])
    var numbers: [Double] = [1, 0.1, 1e300]
    var strings = ["x", "日本語"]
    var wides: [Int128] = [.max, 1]
    var child = SuperShapeBox()
    var many = Dictionary(uniqueKeysWithValues: (0..<40).map { ("k\($0)", $0) })
  }

  struct SuperShapeBox: Codable, Equatable {
    var value = SuperShape()
    static func == (a: Self, b: Self) -> Bool { a.value.own == b.value.own }
  }

  /// Reads the bytes in every way: the readers agree on whether they are well-formed.
  func read(_ bytes: [UInt8], as kind: Int) {
    let data = Data(bytes)
    let decoder = CBORDecoder()
    var isRead = false
    switch kind {
    case 0: isRead = (try? decoder.decode(CBORItem.self, from: data)) != nil
    case 1...3: isRead = (try? decoder.decode([PayloadShape].self, from: data)) != nil
    case 4: isRead = (try? CBORItem(bytes)) != nil
    default:
      if let value = try? decoder.decode(Everything.self, from: data) {
        isRead = true
        #expect((try? decoder.decode(Everything.self, from: CBOREncoder().encode(value))) != nil)
      }
    }
    bytes.withBytes { bytes in
      let diagnostic = try? CBORDiagnostic(bytes, limit: 60)
      if let diagnostic { #expect(diagnostic.text.utf8.count < 100) }
      let isWellFormed = Self.skipError(bytes, maximumDepth: 516) == nil
      let scanError = Self.scanError(bytes)
      #expect(isWellFormed == (scanError == nil) || scanError?.code == .duplicateKey)
      #expect((diagnostic != nil) == isWellFormed || scanError?.code == .tooDeep)
      #expect(isWellFormed || !isRead)
    }
  }

  static func skipError(_ bytes: CBORBytes, maximumDepth: Int = 512) -> CBORError? {
    var reader = CBORReader(bytes, maximumDepth: maximumDepth)
    do throws(CBORError) {
      try reader.skip()
      try reader.finish()
    } catch {
      return error
    }
    return nil
  }

  static func scanError(_ bytes: CBORBytes) -> CBORError? {
    var tape = CBORTape()
    do throws(CBORError) { _ = try CBORScanner.scan(bytes, maximumDepth: 516, into: &tape) } catch { return error }
    return nil
  }

  static let documents: [[UInt8]] = {
    let everything = Array(try! CBOREncoder().encode(Everything()))
    var random = SeededRandom(6)
    let trees = (0..<40).map { _ in CBORItem.random(&random, depth: 4) }
    return [everything, try! CBORItem(everything).indefinite] + trees.map(\.encoded) + trees.map(\.indefinite)
      + CBORVector.all.map(\.bytes)
  }()

  static func mutated(_ document: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
    var bytes = document
    for _ in 0...random.below(4) {
      let place = random.below(bytes.count + 1)
      switch random.below(7) {
      case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(random.below(8))
      case 1 where place < bytes.count: bytes[place] = UInt8(random.below(256))
      case 2: bytes.insert(contentsOf: random.bytes(1 + random.below(9)), at: place)
      case 3 where place < bytes.count: bytes.remove(at: place)
      case 4: bytes.removeLast(bytes.count - place)
      case 5 where place < bytes.count:
        let end = place + random.below(min(bytes.count - place, 30) + 1)
        bytes.insert(contentsOf: bytes[place..<end], at: random.below(bytes.count + 1))
      default:
        let heads: [UInt8] = [0x5B, 0x7B, 0x9B, 0xBB, 0x9F, 0xBF, 0x5F, 0x7F, 0xFF, 0xC2, 0xC4, 0xDB, 0xF9, 0xA1, 0x81]
        bytes.insert(heads[random.below(heads.count)], at: place)
      }
    }
    return bytes
  }

  @Test func shortInputsAreReadOrRefused() {
    for word in 0...UInt16.max { read([UInt8(word >> 8), UInt8(word & 0xFF)], as: Int(word % 5)) }
    for byte in UInt8.min...UInt8.max { read([byte], as: Int(byte % 5)) }
  }

  /// A few seeds; the trial of hostile inputs tries more.
  @Test(arguments: 0..<4) func damagedDocumentsAreReadOrRefused(_ seed: Int) {
    var random = SeededRandom(UInt64(seed))
    for _ in 0..<8_000 {
      let document = random.below(20) == 0 ? 0 : random.below(Self.documents.count)
      read(Self.mutated(Self.documents[document], &random), as: document < 2 ? 5 : random.below(9))
    }
    for _ in 0..<5_000 { read(random.bytes(random.below(40)), as: random.below(9)) }
  }

  @Test func everyPrefixIsRefused() throws {
    let document = Self.documents[0]
    for count in 0..<document.count {
      #expect(throws: DecodingError.self) { try CBORDecoder().decode(Everything.self, from: Data(document[..<count])) }
    }
    #expect(try CBORDecoder().decode(Everything.self, from: Data(document)) == Everything())
    #expect(throws: DecodingError.self) { try CBORDecoder().decode(Everything.self, from: Data(document + [0])) }
  }

  @Test(arguments: ["9b", "bb", "5b", "7b", "9a", "ba", "5a", "7a"], ["", "c1", "81", "a100"])
  func announcedCountsAreNotBelieved(_ head: String, _ before: String) {
    for count in ["ffffffffffffffff", "7fffffffffffffff", "00000000ffffffff", "4000000000000000"] {
      let data = Data([UInt8](hex: before + head + (head.hasSuffix("b") ? count : String(count.suffix(8))) + "00"))
      for type in [[Int].self, [String: Int].self, Data.self, String.self] as [any Decodable.Type] {
        #expect(throws: DecodingError.self) { _ = try CBORDecoder().decode(type, from: data) }
      }
    }
  }

  // MARK: Size

  /// Arrays of 256 elements: 258 bytes with a break, 259 with a count; 1034 and 1037 in all.
  @Test(arguments: [(1_033, false), (1_034, false), (1_036, false), (1_037, true)])
  func theDefiniteFormHasTheSameLimit(_ limit: Int, _ isRead: Bool) throws {
    let array = [UInt8](repeating: 0, count: 256)
    var document: [UInt8] = [0x9F]
    for _ in 0..<4 { document += [0x9F] + array + [0xFF] }
    document.append(0xFF)
    var decoder = CBORDecoder()
    decoder.longestDocument = limit
    do {
      let read = try decoder.decode([[UInt8]].self, from: Data(document))
      #expect(isRead && read == [[UInt8]](repeating: array, count: 4))
    } catch DecodingError.dataCorrupted(let context) {
      #expect(!isRead && (context.underlyingError as? CBORCodingError)?.code == .tooLarge)
    }
  }

  /// In time, too.
  @Test func largeMapsAreReadInAnyOrder() throws {
    let keys = (0..<100_000).map { "key \($0)" }
    let sorted = try CBOREncoder().encode(Dictionary(uniqueKeysWithValues: keys.map { ($0, 1) }))
    guard case .map(let entries) = try CBORItem(Array(sorted)) else { return }
    // As another encoder may write it: keys out of order, indefinite length.
    var random = SeededRandom(7)
    var shuffled: [UInt8] = [0xBF]
    for entry in entries.shuffled(using: &random) { shuffled += entry.key.encoded + entry.value.encoded }
    let twice: [UInt8] = shuffled + entries[5].key.encoded + [0, 0xFF]
    shuffled.append(0xFF)
    var decoder = CBORDecoder()
    decoder.userInfo[Decoding.body] =
      { decoder in
        let map = try decoder.container(keyedBy: AnyKey.self)
        for key in keys.reversed() {
          #expect(try map.decode(Int.self, forKey: AnyKey(stringValue: key)) == 1)
          #expect(!map.contains(AnyKey(stringValue: key + "x")))
        }
      } as Decoding.Body
    for document in [sorted, Data(shuffled)] { _ = try decoder.decode(Decoding.self, from: document) }
    #expect(throws: DecodingError.self) { try CBORDecoder().decode([String: Int].self, from: Data(twice)) }
    let chunks = Data([0x7F] + Array(repeating: 0x60, count: 1_000_000) + [0xFF])
    #expect(try CBORDecoder().decode(String.self, from: chunks) == "")
  }

  @Test func integersAsKeysAreFound() throws {
    // {1: "a", -3: "b", "10": "c", 300: "d"}, and enough more to leave the linear search.
    var entries: [(key: CBORItem, value: CBORItem)] = [
      (.integer(10), .integer(7)), (.integer(-3), .text("b")), (.text("other"), .null),
    ]
    for _ in 0..<2 {
      for bytes in [CBORItem.map(entries).encoded, CBORItem.map(entries).indefinite] {
        #expect(try CBORDecoder().decode(NumberedShape.self, from: Data(bytes)) == NumberedShape(a: 7, b: "b"))
      }
      entries += (1_000..<1_100).map { (.integer($0), .integer(0)) }
    }
    let numbers = CBORItem.map((0..<50).map { (.integer($0 * 3 - 20), .integer($0)) })
    let read = try CBORDecoder().decode([Int: Int].self, from: Data(numbers.encoded))
    #expect(read == Dictionary(uniqueKeysWithValues: (0..<50).map { ($0 * 3 - 20, $0) }))
    #expect(try CBORDecoder().decode([String: Int].self, from: Data(numbers.encoded)).count == 50)
  }

  @Test func keysThatAreNoCodingKeysAreNotDropped() throws {
    let keys: [CBORItem] = [.bytes([0x61]), .tag(0, .text("a")), .double(1), .bool(true), .array([])]
    let maps = keys.map { CBORItem.map([(.text("a"), .integer(3)), ($0, .integer(1))]) }
    for bytes in maps.map(\.encoded) + maps.map(\.indefinite) {
      let error = #expect(throws: DecodingError.self) {
        try CBORDecoder().decode([[String: Int]].self, from: Data([0x81] + bytes))
      }
      guard case .dataCorrupted(let context) = error else { throw try #require(error) }
      #expect(context.codingPath.map(\.stringValue) == ["Index 0"])
      // Unknown integer keys are skipped like unknown names.
      struct Named: Decodable { var a: Int }
      #expect(try CBORDecoder().decode(Named.self, from: Data(bytes)).a == 3)
    }
  }

  @Test func tagsAreLookedThrough() throws {
    func tagged(_ item: CBORItem) -> CBORItem {
      switch item {
      case .array(let items): .tag(55_799, .tag(7, .array(items.map { tagged($0) })))
      case .map(let entries): .tag(55_799, .map(entries.map { ($0.key, tagged($0.value)) }))
      default: .tag(1_234_567, item)
      }
    }
    let values = [PayloadShape.one(1), .two(name: "n", PlainShape()), .two(name: "", nil), .none]
    let item = tagged(try CBORItem(Array(CBOREncoder().encode(values))))
    #expect(try CBORDecoder().decode([PayloadShape].self, from: Data(item.encoded)) == values)
    let everything = tagged(try CBORItem(Array(CBOREncoder().encode(Everything()))))
    #expect(try CBORDecoder().decode(Everything.self, from: Data(everything.encoded)) == Everything())
  }
}
