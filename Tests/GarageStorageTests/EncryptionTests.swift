import Foundation
import Testing

@testable import GarageStorage

@Suite struct EncryptionTests {
  let garage = Garage(with: [.inMemory])

  @Test(arguments: Kind.allCases)
  func whatIsParkedIsEncrypted(kind: Kind) throws {
    try kind.with { garage in
      try garage.park(Pet(1, "plain"))
      // The garage retains its delegate.
      garage.dataEncryptionDelegate = Reversing()
      try garage.park(makeSam())
      for name in ["Sam", "Nick", "Emily"] {
        #expect(try garage.content(Person.self, name)?.contains("age") == false)
      }
      #expect(try garage.retrieve(Person.self, identifier: "Sam")?.brother?.age == 26)
      // Plain objects are encrypted when they are parked again.
      try garage.park(try #require(try garage.retrieve(Pet.self, identifier: 1)))
      #expect(try garage.content(Pet.self, "1")?.contains("name") == false)
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
      let refusal = GarageError.missingEncryptionDelegate("The garage")
      #expect(throws: refusal) { try garage.park(Pet(2, "plain")) }
      #expect(throws: refusal) { try garage.parkAll([Person("Sam")]) }
      // Operations that leave the content alone need no delegate.
      try garage.setSyncStatus(.synced, for: Pet(1))
      #expect(try garage.syncStatus(for: Pet(1)) == .synced)
      try garage.deleteAllObjects()
      try garage.park(Pet(2, "plain"))
      #expect(try garage.retrieve(Pet.self, identifier: 2)?.name == "plain")
    }
  }

  /// With two garages on one store, as two processes have it.
  @Test func plainTextThatWaitedIsRefusedOnceTheGarageIsEncrypted() throws {
    let directory = GarageDirectory()
    let (garage, other) = (directory.garage(), directory.garage())
    garage.isAutosaveEnabled = false
    try garage.park(Pet(1))
    other.dataEncryptionDelegate = Reversing()
    try other.park(Pet(2))
    let refusal = GarageError.missingEncryptionDelegate("The garage")
    #expect(throws: refusal) { try garage.save() }
    #expect(try other.retrieveAll(Pet.self).map(\.number) == [2])
    // A garage without encrypted objects remembers that it had some.
    try other.delete(Pet(2))
    #expect(throws: refusal) { try directory.garage().park(Pet(3)) }
    // Not if the garage was emptied before.
    try garage.deleteAllObjects()
    try garage.park(Pet(3))
    try other.park(Pet(4))
    try garage.save()
    #expect(try other.retrieveAll(Pet.self).map(\.number) == [3])
  }

  @Test func whatTheDelegateThrowsIsPassedOn() throws {
    let delegate = Reversing()
    garage.dataEncryptionDelegate = delegate
    try garage.park(Pet(1))
    delegate.refuses = true
    #expect(throws: Reversing.Refusal.self) { try garage.park(Pet(2)) }
    #expect(throws: Reversing.Refusal.self) { try garage.retrieve(Pet.self, identifier: 1) }
    delegate.refuses = false
    #expect(try garage.retrieveAll(Pet.self).count == 1)
    let key = ObjectKey(TypeIdentity.of(Pet.self), "1")
    try garage.put([0xff], isEncrypted: true, key)
    #expect(throws: GarageError.self) { try garage.retrieve(Pet.self, identifier: 1) }
    try garage.put(Array("x".utf8), isEncrypted: true, key)
    #expect(throws: Reversing.Refusal.self) { try garage.retrieve(Pet.self, identifier: 1) }
  }
}
