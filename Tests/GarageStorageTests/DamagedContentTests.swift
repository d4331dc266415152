import Foundation
import LMDB
import TestSupport
import Testing

@testable import GarageStorage

/// Stored content that no version writes: an error that says where, and the content stays.
@Suite struct DamagedContentTests {
  let garage = Garage(with: [.inMemory])

  struct Outer: Codable, Identifiable {
    var id: Int
    var list: [Inner]
    struct Inner: Codable { var number: Int8 }
  }

  /// Expects an error with `words` for each text as the object's content.
  private func check<T>(
    _ type: T.Type, _ identifier: String, _ texts: [String], _ words: String = "", _ code: GarageError.Code? = nil,
    retrieve: () throws -> T?
  ) throws {
    for text in texts {
      try garage.put(text, type: type, identifier)
      let found = failure(of: retrieve)
      let error = try #require(found, "\(text.prefix(100))")
      #expect(words.isEmpty || error.description.contains(words), "\(text.prefix(100)) \(error)")
      #expect(code == nil || error.code == code, "\(text.prefix(100)) \(error)")
      #expect(try garage.content(type, identifier) == text)
    }
  }

  @Test func anErrorSaysWhereAndTheContentStays() throws {
    let texts = [
      "", "{", "nonsense", "[1]", "null", #"{"number":1}"#, #"{"number":"x","name":""}"#, "tru", "\"\\", "-", "01",
      "1.", #"{"number":1e99,"name":""}"#, #"{"number":1,"name":"a","name":"b"}"#, #"{"number":1,"name":"\ud800"}"#,
      #"{"number":1,"name":"a"} x"#, "{\"number\":1,\"name\":\"\u{1}\"}", String(repeating: "[", count: 100_000),
      String(repeating: "{\"a\":", count: 100_000),
    ]
    try check(Pet.self, "1", texts, "Pet") { try garage.retrieve(Pet.self, identifier: 1) }
    try garage.park(Pet(1, "new"))
    #expect(try garage.retrieve(Pet.self, identifier: 1)?.name == "new")
    try check(Outer.self, "1", [#"{"id":1,"list":[{"number":1},{"number":300}]}"#], ".list[1].number", .undecodable) {
      try garage.retrieve(Outer.self, identifier: 1)
    }
    try check(Friend.self, "Sam", [#"{"name":"Sam","age":1,"brother":null,"siblings":{}}"#], "Friend", .undecodable) {
      try garage.retrieve(Friend.self, identifier: "Sam")
    }
    let homes = [
      #"{"gs_identifier":"kGSAnonymousObject","kGSAnonymousDataKey":"{"}"#,
      #"{"gs_identifier":"kGSAnonymousObject","kGSAnonymousDataKey":"{}"}"#, "7", "{}",
    ]
    try check(
      MigrationTests.Owner.self, "Sam", homes.map { #"{"name":"Sam","home":\#($0)}"# }, "Owner", .undecodable
    ) { try garage.retrieve(MigrationTests.Owner.self, identifier: "Sam") }
  }

  @Test func aReferenceToAnotherTypeIsAnError() throws {
    for type in ["GarageStorageTests.Pet", "Foundation.NSObject", ""] {
      try garage.put(Array("{}".utf8), ObjectKey(type: type, identifier: "Sam"))
    }
    let references = [
      #"{"gs_identifier":"Sam","gs_type":"GarageStorageTests.Pet"}"#,
      #"{"gs_identifier":"Sam","gs_type":"Foundation.NSObject"}"#, #"{"gs_identifier":"Sam","gs_type":""}"#,
      #"{"gs_identifier":7,"gs_type":"GarageStorageTests.Person"}"#, #"{"gs_identifier":"Sam"}"#, #"["Sam"]"#,
      #""Sam""#, "7",
    ]
    let person = #"{"name":"Nick","age":1,"birthdate":0,"importantDates":[],"siblings":[],"brother":"#
    try check(Person.self, "Nick", references.map { "\(person)\($0)}" }) {
      try garage.retrieve(Person.self, identifier: "Nick")
    }
  }

  @Test func aMappedObjectsDamageIsAnError() throws {
    let texts = [
      "[]", "7", #"{"name":7}"#, #"{"friends":{}}"#, #"{"friends":[7]}"#, #"{"best":"x"}"#, #"{"byName":[]}"#,
    ]
    let retrieve = { try garage.retrieveObject(MappedHuman.self, identifier: "1") }
    try check(MappedHuman.self, "1", texts, "Human", .undecodable, retrieve: retrieve)
    let classes = ["GarageStorageTests.Gone", "GarageStorageTests.Person", "GarageStorageTests.MappedHuman", ""]
    let animals = classes.map { #"{"best":{"name":"x","gs_type":"\#($0)"}}"# }
    try check(MappedHuman.self, "1", animals, ".best", .undecodable, retrieve: retrieve)
    // A property that cannot hold the object, also if the object was already made for another property.
    try garage.parkObject(MappedHuman("2"))
    func reference(_ ssn: Int) -> String { #"{"gs_identifier":"\#(ssn)","gs_type":"GarageStorageTests.MappedHuman"}"# }
    try garage.put(#"{"ssn":"3","boss":\#(reference(2))}"#, type: MappedHuman.self, "3")
    let friends = [[2, 3], [3, 2], [3]].map { $0.map { reference($0) }.joined(separator: ",") }
    try check(
      MappedHuman.self, "1", friends.map { #"{"friends":[\#($0)]}"# }, ".boss", .undecodable, retrieve: retrieve)
    // The runtime reads bytes below the space in a name as offsets into memory.
    for name in ["$\\u0000.", "\\u0001\\u0002", "\\u0001abcd", "a\\u007f", " "] {
      try garage.put(#"{"best":{"name":"x","gs_type":"\#(name)"}}"#, type: MappedHuman.self, "1")
      #expect(failure(of: retrieve) != nil)
    }
  }

  @Test func missingPropertiesKeepTheirInitialValues() throws {
    try garage.put("{}", type: MappedHuman.self, "1")
    #expect(try garage.retrieveObject(MappedHuman.self, identifier: "1")?.name == "")
    try garage.put(#"{"name":"Sam","age":1}"#, type: Friend.self, "Sam")
    let sam = try #require(try garage.retrieve(Friend.self, identifier: "Sam"))
    #expect(sam.brother == nil && sam.siblings.isEmpty)
  }

  @Test(arguments: 0..<200)
  func randomDamageNeverCrashes(seed: Int) throws {
    var random = SeededRandom(UInt64(seed))
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
    try garage.put(content, ObjectKey(TypeIdentity.of(Person.self), "Sam"))
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

  // MARK: - The errors' types

  struct Owner: Codable, Identifiable {
    var id: String
    var pet: Pet
  }

  @Test func theKindOfAFailedDecodingIsKept() throws {
    func error(_ json: String) throws -> DecodingError {
      try garage.put(json, type: Pet.self, "7")
      return try #require(#expect(throws: DecodingError.self) { try garage.retrieve(Pet.self, identifier: 7) })
    }
    let mismatch = try error(#"{"number":"x","name":""}"#)
    guard case .typeMismatch(_, let context) = mismatch, case .valueNotFound = try error(#"{"number":1,"name":null}"#),
      case .dataCorrupted = try error(#"{"number":1e99,"name":""}"#), case .keyNotFound = try error(#"{"number":1}"#)
    else {
      Issue.record("another kind")
      return
    }
    #expect(context.codingPath.map(\.stringValue) == ["number"])
    #expect(GarageError(mismatch)?.underlying is DecodingError)
    // The innermost object is named.
    try garage.put(
      #"{"id":"Sam","pet":{"gs_identifier":"7","gs_type":"GarageStorageTests.Pet"}}"#, type: Owner.self, "Sam")
    let inner = failure { try garage.retrieve(Owner.self, identifier: "Sam") }
    #expect(inner?.code == .undecodable && inner?.message.contains(#"Pet "7""#) == true)
  }

  @Test func codesMatchAnErrorOfEitherType() throws {
    try garage.park(Owner(id: "Sam", pet: Pet(7)))
    try garage.delete(Pet(7))
    do {
      _ = try garage.retrieveAll(Owner.self)
      Issue.record("nothing was thrown")
    } catch GarageError.missingConformance {
      Issue.record("another error")
    } catch GarageError.Code.missingReference {}
    let foreign = DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: ""))
    #expect(GarageError(foreign) == nil && !(GarageError.Code.undecodable ~= foreign))
  }
}
