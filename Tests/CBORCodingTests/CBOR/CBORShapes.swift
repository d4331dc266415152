import Foundation

// Types that encode themselves in every possible way.

struct EmptyShape: Codable, Equatable {}

struct PlainShape: Codable, Equatable {
  var id = 1
  var name = "name"
  var isOn = true
  var ratio = 0.1
  var small: Float = 1.5
}

struct WideShape: Codable, Equatable {
  var i8 = Int8.min, i16 = Int16.min, i32 = Int32.min, i64 = Int64(-1) << 52, i = -5
  var u8 = UInt8.max, u16 = UInt16.max, u32 = UInt32.max, u64 = UInt64(1) << 52, u = UInt(7)
}

struct OptionalShape: Codable, Equatable {
  var none: Int?
  var some: Int? = 1
  var nested: Int?? = 2
  var list: [Int?] = [1, nil, 3]
  var lists: [[String]?] = [nil, [], ["x"]]
  var map: [String: Int?] = ["a": nil, "b": 2]
  var child: PlainShape? = PlainShape()
}

enum PayloadShape: Codable, Equatable {
  case none
  case one(Int)
  case two(name: String, PlainShape?)
  indirect case more([PayloadShape])
}

enum StringRawShape: String, Codable, CaseIterable { case red, green }
enum IntRawShape: Int, Codable, CaseIterable { case low = -1, high = 300 }
enum RepresentableKey: String, Codable, CodingKeyRepresentable { case first, second }
enum IntRepresentableKey: Int, Codable, CodingKeyRepresentable { case one = 1, two = 2 }

struct DictionaryShape: Codable, Equatable {
  var strings = ["": 0, "b": 1, "aa": 2, "é": 3]
  var integers: [Int: String] = [1: "a", -20: "b", 1_000_000: "c"]
  var representable: [RepresentableKey: Int] = [.first: 1, .second: 2]
  var numbered: [IntRepresentableKey: Int] = [.one: 1, .two: 2]
  var pairs: [Double: Bool] = [0.5: true]
  var nested = ["x": ["y": [1, 2]]]
  var many = Dictionary(uniqueKeysWithValues: (0..<300).map { ("key \($0 * 7919 % 300)", $0) })
}

struct NumberedShape: Codable, Equatable {
  var a = 1
  var b = "b"
  enum CodingKeys: Int, CodingKey { case a = 10, b = -3 }
}

class BaseShape: Codable, Equatable {
  var base = 1

  init() {}
  static func == (a: BaseShape, b: BaseShape) -> Bool { a.base == b.base && type(of: a) == type(of: b) }
}

/// Its superclass uses a separate encoder.
final class SuperShape: BaseShape {
  var own = "own"
  enum CodingKeys: CodingKey { case own }

  override init() { super.init() }

  required init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    own = try container.decode(String.self, forKey: .own)
    try super.init(from: container.superDecoder())
  }

  override func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try super.encode(to: container.superEncoder())
    try container.encode(own, forKey: .own)
  }
}

struct WrappedShape<Value: Codable & Equatable>: Codable, Equatable {
  var value: Value

  init(_ value: Value) { self.value = value }
  init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Value.self) }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(value)
  }
}

struct AnyKey: CodingKey, ExpressibleByStringLiteral {
  var stringValue: String
  var intValue: Int?
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) {
    self.intValue = intValue
    stringValue = String(intValue)
  }
  init(stringLiteral: String) { stringValue = stringLiteral }
}

/// An `encode(to:)` as a closure, for calls that no real type makes.
struct Encoding: Encodable, @unchecked Sendable {
  let name: String
  let body: (any Encoder) throws -> Void

  init(_ name: String, _ body: @escaping (any Encoder) throws -> Void) {
    self.name = name
    self.body = body
  }

  func encode(to encoder: any Encoder) throws { try body(encoder) }
}

/// An `init(from:)` as a closure in `userInfo`.
struct Decoding: Decodable {
  static let body = CodingUserInfoKey(rawValue: "body")!
  typealias Body = @Sendable (any Decoder) throws -> Void

  init(from decoder: any Decoder) throws {
    guard let body = decoder.userInfo[Self.body] as? Body else { return }
    try body(decoder)
  }
}
