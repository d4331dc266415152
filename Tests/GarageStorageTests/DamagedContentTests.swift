import Foundation
import LMDB
import TestSupport
import Testing

@testable import GarageStorage

/// Stored content that no version writes: an error that says where, and the content stays.
@Suite struct DamagedContentTests {
  typealias Animals = MappedOwner
  typealias Human = MappedObjectTests.Human
  typealias Team = MappedObjectTests.Team
  typealias Owner = MigrationTests.Owner

  struct Outer: Codable, Identifiable {
    var id: Int
    var list: [Inner]
    struct Inner: Codable { var number: Int8 }
  }

  /// A type, the identifier of its one object, and how the object is retrieved.
  enum Root: String, CaseIterable, Sendable {
    case pet, person, event, friend, owner, human, team, animals, outer

    var place: (type: Any.Type, identifier: String) {
      switch self {
      case .pet: (Pet.self, "1")
      case .person: (Person.self, "Nick")
      case .event: (DateTests.Event.self, "a")
      case .friend: (Friend.self, "Sam")
      case .owner: (Owner.self, "Sam")
      case .human: (Human.self, "1")
      case .team: (Team.self, "t")
      case .animals: (Animals.self, "Sam")
      case .outer: (Outer.self, "1")
      }
    }

    func retrieve(_ garage: Garage) throws {
      let identifier = place.identifier
      switch self {
      case .pet: _ = try garage.retrieve(Pet.self, identifier: identifier)
      case .person: _ = try garage.retrieve(Person.self, identifier: identifier)
      case .event: _ = try garage.retrieve(DateTests.Event.self, identifier: identifier)
      case .friend: _ = try garage.retrieve(Friend.self, identifier: identifier)
      case .owner: _ = try garage.retrieve(Owner.self, identifier: identifier)
      case .human: _ = try garage.retrieveObject(Human.self, identifier: identifier)
      case .team: _ = try garage.retrieveObject(Team.self, identifier: identifier)
      case .animals: _ = try garage.retrieveObject(Animals.self, identifier: identifier)
      case .outer: _ = try garage.retrieve(Outer.self, identifier: identifier)
      }
    }
  }

  private static let damagedJSON: [String] = [
    "", "{", "nonsense", "[1]", "null", #"{"number":1}"#, #"{"number":"x","name":""}"#, #"{"number":1e99,"name":""}"#,
    #"{"number":1,"name":"a","name":"b"}"#, #"{"number":1,"name":"\ud800"}"#, #"{"number":1,"name":"a"} x"#,
    String(repeating: "[", count: 100_000), String(repeating: "{\"a\":", count: 100_000), "\"\\", "-", "01", "1.",
    "tru",
    "{\"number\":1,\"name\":\"\u{1}\"}",
  ]

  private static let foreignReferences: [String] = [
    #"{"gs_identifier":"Sam","gs_type":"GarageStorageTests.Pet"}"#,
    #"{"gs_identifier":"Sam","gs_type":"Foundation.NSObject"}"#,
    #"{"gs_identifier":"Sam","gs_type":""}"#, #"{"gs_identifier":7,"gs_type":"GarageStorageTests.Person"}"#,
    #"{"gs_identifier":"Sam"}"#, #"["Sam"]"#, #""Sam""#, "7",
  ]

  private static let damagedMappings: [String] = [
    "[]", "7", #"{"name":7}"#, #"{"friends":{}}"#, #"{"friends":[7]}"#, #"{"home":"x"}"#, #"{"places":[]}"#,
  ]

  private static let damagedHomes: [String] = [
    #"{"gs_identifier":"kGSAnonymousObject","kGSAnonymousDataKey":"{"}"#,
    #"{"gs_identifier":"kGSAnonymousObject","kGSAnonymousDataKey":"{}"}"#, "7", "{}",
  ]

  private static let foreignClasses: [String] = [
    "GarageStorageTests.Gone", "GarageStorageTests.Person", "GarageStorageTests.MappedOwner", "",
  ]

  struct Row: Sendable, CustomTestStringConvertible {
    let root: Root
    let text: String
    var code: GarageError.Code?
    /// A part of the description.
    let words: String

    var testDescription: String { "\(root) \(text.prefix(100))" }
  }

  static let rows: [Row] = {
    var rows = damagedJSON.map { Row(root: .pet, text: $0, words: "Pet") }
    rows += foreignReferences.map {
      Row(
        root: .person,
        text: #"{"name":"Nick","age":1,"birthdate":0,"importantDates":[],"siblings":[],"brother":\#($0)}"#, words: "")
    }
    rows += damagedMappings.map { Row(root: .human, text: $0, code: .undecodable, words: "Human") }
    rows += damagedHomes.map {
      Row(root: .owner, text: #"{"name":"Sam","home":\#($0)}"#, code: .undecodable, words: "Owner")
    }
    rows += foreignClasses.map {
      Row(
        root: .animals, text: #"{"name":"Sam","best":{"name":"x","gs_type":"\#($0)"}}"#, code: .undecodable,
        words: ".best")
    }
    // An optional property that cannot hold the object, also if the object was already created for another property.
    rows += [["human", "boss"], ["boss", "human"], ["boss"]].map { properties in
      let reference = #"{"gs_identifier":"1","gs_type":"\#(TypeIdentity.of(Human.self).name)"}"#
      let seats = properties.map { #"{"\#($0)":\#(reference)}"# }.joined(separator: ",")
      return Row(root: .team, text: #"{"name":"t","seats":[\#(seats)]}"#, code: .undecodable, words: ".boss")
    }
    rows += [
      Row(root: .event, text: #"{"id":"a","date":"yesterday"}"#, code: .undecodable, words: "Event"),
      Row(
        root: .friend, text: #"{"name":"Sam","age":1,"brother":null,"siblings":{}}"#, code: .undecodable,
        words: "Friend"),
      Row(
        root: .outer, text: #"{"id":1,"list":[{"number":1},{"number":300}]}"#, code: .undecodable,
        words: ".list[1].number"),
    ]
    return rows
  }()

  @Test(arguments: rows) func anErrorSaysWhereAndTheContentStays(_ row: Row) throws {
    let garage = Garage(with: [.inMemory])
    // The targets of the references.
    for type in ["GarageStorageTests.Pet", "Foundation.NSObject", ""] {
      var changes = PendingChanges()
      changes.park(ObjectKey(type: type, identifier: "Sam"), Array("{}".utf8), isEncrypted: false, nil)
      try garage.change(changes)
    }
    let human = Human()
    human.ssn = "1"
    if row.root == .team { try garage.parkObject(human) }
    let (type, identifier) = row.root.place
    try garage.put(row.text, type: type, identifier)
    let error = failure { try row.root.retrieve(garage) }
    #expect(error != nil)
    if let code = row.code { #expect(error?.code == code) }
    if !row.words.isEmpty { #expect(error?.description.contains(row.words) == true, "\(String(describing: error))") }
    #expect(try garage.content(type, identifier) == row.text)
    guard row.root == .pet else { return }
    try garage.park(Pet(1, "new"))
    #expect(try garage.retrieve(Pet.self, identifier: 1)?.name == "new")
  }

  @Test func theInnermostObjectIsNamed() throws {
    let garage = Garage(with: [.inMemory])
    try garage.park(DecodingErrorTests.Owner(id: "Sam", pet: Pet(7)))
    try garage.put("{}", type: Pet.self, "7")
    let error = failure { try garage.retrieve(DecodingErrorTests.Owner.self, identifier: "Sam") }
    #expect(error?.code == .undecodable && error?.message.contains(#"Pet "7""#) == true)
    #expect(error?.localizedDescription == error?.message)
  }

  @Test func missingPropertiesKeepTheirInitialValues() throws {
    let garage = Garage(with: [.inMemory])
    try garage.put("{}", type: Human.self, "1")
    #expect(try garage.retrieveObject(Human.self, identifier: "1")?.name == "")
    try garage.put(#"{"name":"Sam","age":1}"#, type: Friend.self, "Sam")
    let sam = try #require(try garage.retrieve(Friend.self, identifier: "Sam"))
    #expect(sam.brother == nil && sam.siblings.isEmpty)
  }

  /// The runtime reads bytes below the space in a name as offsets into memory.
  @Test(arguments: ["$\\u0000.", "\\u0001\\u0002", "\\u0001abcd", "a\\u007f", " ", ""])
  func aNameOfATypeMayBeAnything(_ name: String) throws {
    let garage = Garage(with: [.inMemory])
    try garage.put(#"{"name":"Sam","best":{"name":"x","gs_type":"\#(name)"}}"#, type: Animals.self, "Sam")
    _ = try? garage.retrieveObject(Animals.self, identifier: "Sam")
    #expect(TypeIdentity.type(named: "$\u{0}.") == nil)
  }

  @Test func bytesThatAreNotTextAreAnError() throws {
    let garage = Garage(with: [.inMemory])
    let cut: [UInt8] = Array(#"{"number":1,"name":""#.utf8) + [0xc3] + Array(#""}"#.utf8)
    for bytes in [[0x22, 0xff, 0xfe, 0x22], cut] {
      try garage.put(bytes, type: Pet.self, "1")
      #expect(throws: GarageError.self) { try garage.retrieve(Pet.self, identifier: 1) }
    }
  }

  @Test(arguments: 0..<200)
  func randomDamageNeverCrashes(seed: Int) throws {
    var random = SeededRandom(UInt64(seed))
    let garage = Garage(with: [.inMemory])
    try garage.park(makeSam())
    var content = Array(try #require(try garage.content(Person.self, "Sam")).utf8)
    for _ in 0...random.below(6) {
      let place = random.below(content.count)
      switch random.below(3) {
      case 0: content[place] = UInt8(random.below(256))
      case 1: content.remove(at: place)
      default: content.insert(content[random.below(content.count)], at: place)
      }
    }
    try garage.put(content, type: Person.self, "Sam")
    do {
      _ = try garage.retrieve(Person.self, identifier: "Sam")
    } catch {
      #expect(GarageError(error) != nil, "\(error)")
    }
  }

  @Test(
    arguments: [[], [1], [1, 0, 9, 0], [2, 0, 0, 0, 123], [1, 2, 0, 0, 255, 255, 255, 255, 1, 0, 0, 0, 65]] as [[UInt8]]
  )
  func aDamagedRecordIsAnErrorAndCanBeReplaced(bytes: [UInt8]) throws {
    let directory = GarageDirectory()
    let garage = directory.garage()
    try garage.parkAll([Pet(1, "old", .syncing), Pet(2)])
    let environment = try garage.lmdb.environment
    let objects = try environment.openDatabase(named: "objects")
    let transaction = try environment.beginWrite()
    try ObjectKey(TypeIdentity.of(Pet.self), "1").bytes.withUnsafeBytes { key in
      try bytes.withUnsafeBytes { try transaction.put($0, forKey: key, in: objects) }
    }
    try transaction.commit()
    #expect(throws: GarageError.self) { try garage.retrieve(Pet.self, identifier: 1) }
    #expect(throws: GarageError.self) { try garage.retrieveAll(Pet.self) }
    #expect(try garage.retrieve(Pet.self, identifier: 2) != nil)
    try garage.park(Pet(1, "new", .synced))
    #expect(try garage.retrieveAll(Pet.self).count == 2)
    #expect(try garage.retrieveAll(Pet.self, withStatus: .syncing).isEmpty)
  }
}
