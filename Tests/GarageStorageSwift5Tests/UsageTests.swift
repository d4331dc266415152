import Foundation
import GarageStorage
import Testing

// What users of GarageStorage have written, in the older language mode. What differs is the `try` before what saves.

struct SwiftAddress {
  var street: String
  var city: String
  var zip: String
}

extension SwiftAddress: Codable {}

extension SwiftAddress: Hashable {}

class SwiftPerson: Mappable, Syncable {
  // Map the identifier to a preferred property, if desired.
  var id: String { name }
  var name: String = ""
  @Migratable var address: SwiftAddress?
  var age: Int = 0
  var birthdate: Date = Date()
  var importantDates: [Date] = []
  var siblings: [SwiftPerson] = []
  var brother: SwiftPerson?

  private enum CodingKeys: String, CodingKey {
    case name
    case address
    case age
    case birthdate
    case importantDates
    case siblings
    case brother
  }

  var syncStatus: SyncStatus = .undetermined
}

struct SwiftBranch: Mappable, Equatable {
  var id: String = ""
  var branches: [SwiftBranch] = []
}

class SwiftTree: Mappable {
  var id: String = ""
  var mainBranch: SwiftBranch

  init(name: String, mainBranch: SwiftBranch) {
    self.id = name
    self.mainBranch = mainBranch
  }
}

class Reversing: NSObject, DataEncryptionDelegate {
  func encrypt(_ data: Data) throws -> String {
    let string = data.base64EncodedString(options: [])
    return String(string.reversed())
  }

  func decrypt(_ string: String) throws -> Data {
    let reversed = String(string.reversed())
    return Data(base64Encoded: reversed)!
  }
}

@Suite struct UsageTests {
  func makeTestGarage() -> Garage {
    let description = Garage.makePersistentStoreDescription("Usage.sqlite")
    #if !canImport(CoreData)
      description.type = NSInMemoryStoreType
    #else
      description.type = .inMemory
    #endif
    let garage = Garage(with: [description])
    garage.loadPersistentStores { (description, error) in
      if let error = error {
        print("An error occurred loading persistent store \(description), error: \(error)")
      }
    }
    return garage
  }

  func swiftPerson() -> SwiftPerson {
    let person = SwiftPerson()
    person.name = "Sam"
    person.address = SwiftAddress(street: "330 Congress St.", city: "Boston", zip: "02140")
    let nick = SwiftPerson()
    nick.name = "Nick"
    person.brother = nick
    person.siblings = [nick]
    return person
  }

  @Test func parkAndRetrieve() throws {
    let garage = makeTestGarage()
    try garage.park(swiftPerson())
    let sam = try garage.retrieve(SwiftPerson.self, identifier: "Sam")
    #expect(sam?.brother?.name == "Nick")
    #expect(sam?.siblings.count == 1)
    #expect(sam?.address?.city == "Boston")
    try garage.park(SwiftAddress(street: "a", city: "b", zip: "c"))
    #expect(try garage.retrieveAll(SwiftAddress.self).count == 1)
  }

  @Test func trees() throws {
    let garage = makeTestGarage()
    let right = SwiftBranch(id: "Right", branches: [SwiftBranch(id: "Lower"), SwiftBranch(id: "Bottom")])
    let left = SwiftBranch(id: "Left", branches: [SwiftBranch(id: "Upper"), right, SwiftBranch(id: "Top")])
    try garage.park(SwiftTree(name: "Tree", mainBranch: left))
    let tree = try garage.retrieve(SwiftTree.self, identifier: "Tree")
    let leftBranch = try garage.retrieve(SwiftBranch.self, identifier: "Left")
    #expect(tree?.mainBranch == leftBranch)
    #expect(leftBranch == left)
  }

  @Test func batches() throws {
    let garage = makeTestGarage()
    try garage.withAutosaveDisabled {
      try garage.park(swiftPerson())
    }
    try garage.save()
    garage.isAutosaveEnabled = false
    try garage.setSyncStatus(.notSynced, for: swiftPerson())
    let notSynced: [SwiftPerson] = try garage.retrieveAll(SwiftPerson.self, withStatus: .notSynced)
    #expect(notSynced.count == 1)
    try garage.save()
  }

  @Test func dates() throws {
    let garage = makeTestGarage()
    try garage.withDateEncodingStrategy(.iso8601) {
      try garage.park(swiftPerson())
    }
    let person = try garage.withDateDecodingStrategy(.iso8601) {
      try garage.retrieve(SwiftPerson.self, identifier: "Sam")
    }
    #expect(person != nil)
  }

  @Test func encryption() throws {
    let garage = makeTestGarage()
    let encryptor = Reversing()
    garage.dataEncryptionDelegate = encryptor
    try garage.park(swiftPerson())
    #expect(try garage.retrieve(SwiftPerson.self, identifier: "Sam")?.name == "Sam")
  }

  @Test func withoutAGarage() throws {
    let data = try JSONEncoder().encode(swiftPerson())
    let sam = try JSONDecoder().decode(SwiftPerson.self, from: data)
    #expect(sam.brother?.name == "Nick")
    #expect(sam.address?.city == "Boston")
  }
}
