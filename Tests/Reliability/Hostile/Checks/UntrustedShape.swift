import Foundation

/// Has every kind of container and leaf, so that any CBOR document reaches some of it.
struct UntrustedShape: Codable {
  indirect enum Choice: Codable {
    case none
    case one(Int)
    case named(text: String, Double?)
    case more([Choice])
  }

  struct Part: Codable {
    var id = 1
    var name = "name"
    var isOn = true
    var small: Float = 1.5
    var none: Int?
    var wide: [Int128] = [.max, -1]
  }

  var part = Part()
  var optional: Part? = Part()
  var choices = [Choice.none, .one(1), .named(text: "n", nil), .more([.one(2)])]
  var dictionary = ["a": [1: "b"], "longer key": [:]]
  var bytes = [UInt8](0..<4)
  var i8 = Int8.min, u16 = UInt16.max, i32 = Int32.min, u64 = UInt64.max
  var date = Date(timeIntervalSinceReferenceDate: 800_000_000.123)
  var url = URL(string: "https://example.org/path")!
  var uuid = UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F")!
  var decimal = Decimal(string: "123456789012345678901234567890.5")!
  var data = Data([1, 2, 3])
  var numbers: [Double] = [1, 0.1, 1e300]
  var lists: [[String]?] = [nil, [], ["x", "日本語"]]
  var many = Dictionary(uniqueKeysWithValues: (0..<20).map { ("k\($0)", $0) })
}
