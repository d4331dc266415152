import Foundation
import Testing

@testable import GarageStorage

@Suite struct EncryptionTests {
  final class Reversing: DataEncryptionDelegate {
    struct Refusal: Error {}
    var refuses = false

    func encrypt(_ data: Data) throws -> String {
      if refuses { throw Refusal() }
      return String(data.base64EncodedString().reversed())
    }

    func decrypt(_ string: String) throws -> Data {
      guard !refuses, let data = Data(base64Encoded: String(string.reversed())) else { throw Refusal() }
      return data
    }
  }

  @Test(arguments: Kind.allCases)
  func whatIsParkedIsEncrypted(kind: Kind) throws {
    try kind.with { garage in
      // The garage retains its delegate.
      garage.dataEncryptionDelegate = Reversing()
      try garage.park(makeSam())
      for name in ["Sam", "Nick", "Emily"] {
        #expect(try garage.content(Person.self, name)?.contains("age") == false)
      }
      #expect(try garage.retrieve(Person.self, identifier: "Sam")?.brother?.age == 26)
    }
  }

  @Test(arguments: Kind.allCases, [true, false])
  func withoutTheDelegateNothingIsReadOrWritten(kind: Kind, autosaves: Bool) throws {
    try kind.with { garage in
      garage.isAutosaveEnabled = autosaves
      garage.dataEncryptionDelegate = Reversing()
      try garage.park(Pet(1, "secret"))
      garage.dataEncryptionDelegate = nil
      #expect(throws: GarageError.missingEncryptionDelegate("Pet \"1\"")) {
        try garage.retrieve(Pet.self, identifier: 1)
      }
      #expect(throws: GarageError.missingEncryptionDelegate("The garage")) { try garage.park(Pet(2, "plain")) }
      #expect(throws: GarageError.missingEncryptionDelegate("The garage")) {
        try garage.parkAll([Person("Sam")])
      }
      // Operations that leave the content alone need no delegate.
      try garage.setSyncStatus(.synced, for: Pet(1))
      #expect(try garage.syncStatus(for: Pet(1)) == .synced)
      try garage.deleteAllObjects()
      try garage.park(Pet(2, "plain"))
      #expect(try garage.retrieve(Pet.self, identifier: 2)?.name == "plain")
    }
  }

  @Test func theGarageRemembersInAnotherProcessToo() throws {
    let directory = GarageDirectory()
    do {
      let garage = directory.garage()
      garage.dataEncryptionDelegate = Reversing()
      try garage.park(Pet(1))
      try garage.delete(Pet(1))
    }
    let other = directory.garage()
    other.isAutosaveEnabled = false
    #expect(throws: GarageError.missingEncryptionDelegate("The garage")) { try other.park(Pet(2)) }
    // With two garages on one store, a pending plain-text object is refused when it is saved.
    try other.deleteAllObjects()
    try other.park(Pet(2))
    let third = directory.garage()
    third.dataEncryptionDelegate = Reversing()
    try third.park(Pet(3))
    try other.save()
    #expect(try other.retrieveAll(Pet.self).map(\.number) == [2])
  }

  @Test func plainTextThatWaitedIsRefusedOnceTheGarageIsEncrypted() throws {
    let directory = GarageDirectory()
    let (garage, other) = (directory.garage(), directory.garage())
    garage.isAutosaveEnabled = false
    try garage.park(Pet(1))
    other.dataEncryptionDelegate = Reversing()
    try other.park(Pet(2))
    #expect(throws: GarageError.missingEncryptionDelegate("The garage")) { try garage.save() }
    #expect(try other.retrieveAll(Pet.self).map(\.number) == [2])
  }

  @Test(arguments: Kind.allCases)
  func plainObjectsAreReadAndEncryptedWhenTheyAreParkedAgain(kind: Kind) throws {
    try kind.with { garage in
      try garage.park(Pet(1, "a"))
      garage.dataEncryptionDelegate = Reversing()
      let pet = try #require(try garage.retrieve(Pet.self, identifier: 1))
      try garage.park(pet)
      #expect(try garage.content(Pet.self, "1")?.contains("name") == false)
    }
  }

  @Test func whatTheDelegateThrowsIsPassedOn() throws {
    let garage = Garage(with: [.inMemory])
    let delegate = Reversing()
    garage.dataEncryptionDelegate = delegate
    try garage.park(Pet(1))
    delegate.refuses = true
    #expect(throws: Reversing.Refusal.self) { try garage.park(Pet(2)) }
    #expect(throws: Reversing.Refusal.self) { try garage.retrieve(Pet.self, identifier: 1) }
    delegate.refuses = false
    #expect(try garage.retrieveAll(Pet.self).count == 1)
    try garage.put([0xff], isEncrypted: true, type: Pet.self, "1")
    #expect(throws: GarageError.self) { try garage.retrieve(Pet.self, identifier: 1) }
    try garage.put(Array("x".utf8), isEncrypted: true, type: Pet.self, "1")
    #expect(throws: Reversing.Refusal.self) { try garage.retrieve(Pet.self, identifier: 1) }
  }
}
