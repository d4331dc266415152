import Foundation
import GarageStorage
import Testing

// What users of GarageStorage have written, in the older language mode. What differs is the `try` before what saves.

struct SwiftAddress {
  var street: String
  var city: String
}

extension SwiftAddress: Codable {}
extension SwiftAddress: Hashable {}

class SwiftPerson: Mappable, Syncable {
  // Map the identifier to a preferred property, if desired.
  var id: String { name }
  var name: String = ""
  @Migratable var address: SwiftAddress?
  var importantDates: [Date] = []
  var siblings: [SwiftPerson] = []
  var brother: SwiftPerson?

  private enum CodingKeys: String, CodingKey { case name, address, importantDates, siblings, brother }

  var syncStatus: SyncStatus = .undetermined
}

class Reversing: NSObject, DataEncryptionDelegate {
  func encrypt(_ data: Data) throws -> String { String(data.base64EncodedString(options: []).reversed()) }

  func decrypt(_ string: String) throws -> Data { Data(base64Encoded: String(string.reversed()))! }
}

class OldCustomer: NSObject, MappableObject, SyncableObject {
  var name = ""
  var syncStatus: SyncStatus = .undetermined

  required override init() {}

  class var objectMapping: ObjectMapping {
    let mapping = ObjectMapping(for: OldCustomer.self)
    mapping.addMappings(["name": \OldCustomer.name])
    mapping.identifyingAttribute = "name"
    return mapping
  }
}

struct SwiftPersonWithParent: Mappable {
  var id: String
  var parent: SwiftPerson
}

struct SwiftPlainCodable: Codable {}

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
      if let error = error { print("An error occurred loading persistent store \(description), error: \(error)") }
    }
    return garage
  }

  func swiftPerson() -> SwiftPerson {
    let person = SwiftPerson()
    person.name = "Sam"
    person.address = SwiftAddress(street: "330 Congress St.", city: "Boston")
    let nick = SwiftPerson()
    nick.name = "Nick"
    person.brother = nick
    person.siblings = [nick]
    return person
  }

  @Test func parking() throws {
    let garage = makeTestGarage()
    let encryptor = Reversing()
    garage.dataEncryptionDelegate = encryptor
    try garage.withAutosaveDisabled { try garage.park(swiftPerson()) }
    try garage.save()
    let sam = try garage.retrieve(SwiftPerson.self, identifier: "Sam")
    #expect(sam?.brother?.name == "Nick" && sam?.siblings.count == 1 && sam?.address?.city == "Boston")
    try garage.park(SwiftAddress(street: "a", city: "b"))
    #expect(try garage.retrieveAll(SwiftAddress.self).count == 1)
    garage.isAutosaveEnabled = false
    try garage.setSyncStatus(.notSynced, for: swiftPerson())
    let notSynced: [SwiftPerson] = try garage.retrieveAll(SwiftPerson.self, withStatus: .notSynced)
    #expect(notSynced.count == 1)
    try garage.save()
    let dated = makeTestGarage()
    try dated.withDateEncodingStrategy(.iso8601) { try dated.park(swiftPerson()) }
    try dated.withDateDecodingStrategy(.iso8601) { () throws in
      #expect(try dated.retrieve(SwiftPerson.self, identifier: "Sam") != nil)
    }
  }

  @Test func mappedObjects() throws {
    let garage = makeTestGarage()
    let objects: [MappableObject] = [OldCustomer()]
    for object in objects { (object as? SyncableObject)?.syncStatus = .syncing }
    try garage.parkObjects(objects)
    let syncing: [MappableObject] = try garage.retrieveObjects(withStatus: .syncing, ofClass: OldCustomer.self)
    #expect(syncing.count == 1)
  }

  @Test func errors() throws {
    let garage = makeTestGarage()
    do {
      try garage.delete(swiftPerson())
      Issue.record("nothing was thrown")
    } catch GarageError.failedToRetrieveObject {}
    do {
      try garage.park(SwiftPlainCodable())
      Issue.record("nothing was thrown")
    } catch GarageError.missingConformance {}
    do {
      _ = try garage.retrieve(SwiftPerson.self, identifier: ["Sam"])
      Issue.record("nothing was thrown")
    } catch GarageError.unsupportedIDConformance {}

    let nick = SwiftPerson()
    nick.name = "Nick"
    try garage.park(SwiftPersonWithParent(id: "Child", parent: nick))
    try garage.delete(nick)
    do {
      _ = try garage.retrieve(SwiftPersonWithParent.self, identifier: "Child")
      Issue.record("nothing was thrown")
    } catch DecodingError.dataCorrupted(let context) {
      #expect(context.debugDescription.contains("SwiftPerson") && context.debugDescription.contains("Nick"))
    }
  }
}
