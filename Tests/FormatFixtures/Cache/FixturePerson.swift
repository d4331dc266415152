import Foundation

struct FixturePerson: Codable, Equatable, Sendable {
  struct Address: Codable, Equatable, Sendable {
    var street: String
    var number: Int
  }

  var name: String
  var age: Int
  var height: Double
  var isKnown: Bool
  var born: Date
  var picture: Data
  var identifier: UUID
  var addresses: [Address]
  var marks: [String: Int]
  /// One of these is present, the other is not.
  var nickname: String?
  var title: String?

  static let ann = FixturePerson(
    name: "Ann Ångström", age: 41, height: 1.75, isKnown: true, born: Date(timeIntervalSince1970: 500_000_000.5),
    picture: Data([0, 1, 2, 254, 255]), identifier: UUID(uuid: (9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6)),
    addresses: [Address(street: "Long Street", number: 1), Address(street: "短い", number: -2)],
    marks: ["one": 1, "many": Int.max], nickname: "Annie", title: nil)
}
