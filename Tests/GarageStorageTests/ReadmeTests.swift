import Foundation
import GarageStorage
import Testing

/// The README of GarageStorage as its users write it, with `try` added before saves.
@Suite struct ReadmeTests {
  let directory = GarageDirectory()

  class Member: Mappable, Syncable {
    var id: String { ssn }
    var ssn = ""
    var syncStatus: SyncStatus = .undetermined

    private enum CodingKeys: CodingKey { case ssn }

    convenience init(_ ssn: String) {
      self.init()
      self.ssn = ssn
    }
  }

  func makeGarage() -> Garage {
    let description = Garage.makePersistentStoreDescription("Readme.sqlite")
    description.url = directory.url
    let garage = Garage(with: [description])
    garage.loadPersistentStores { (description, error) in
      #expect(error == nil)
    }
    return garage
  }

  @Test func theTourWorks() throws {
    let garage = makeGarage()
    let myPerson = Member("123-45-6789")
    let (myBrother, mySister, myMom, myDad) = (Member("1"), Member("2"), Member("3"), Member("4"))

    try garage.park(myPerson)
    try garage.parkAll([myBrother, mySister, myMom, myDad])

    let person = try garage.retrieve(Member.self, identifier: "123-45-6789")
    #expect(person?.ssn == "123-45-6789")
    let allPeople = try garage.retrieveAll(Member.self)
    #expect(allPeople.count == 5)

    try garage.setSyncStatus(.syncing, for: myPerson)
    try garage.setSyncStatus(.synced, for: [myBrother, mySister, myMom, myDad])
    let status = try garage.syncStatus(for: myPerson)
    #expect(status == .syncing)
    let notSynced: [Member] = try garage.retrieveAll(withStatus: .notSynced)
    #expect(notSynced.isEmpty)

    garage.isAutosaveEnabled = false
    try garage.delete(myPerson)
    try garage.save()
    try garage.deleteAll(Member.self)
    try garage.deleteAllObjects()
    try garage.save()

    do {
      try garage.delete(myPerson)
    } catch let error as GarageError {
      #expect(GarageError.errorDomain == Garage.errorDomain)
      #expect(error.localizedDescription.contains("123-45-6789"))
    }
    #if canImport(Darwin)
      // Elsewhere Swift errors are not `NSError`s.
      do {
        try garage.delete(myPerson)
      } catch let error as NSError {
        #expect(error.domain == Garage.errorDomain)
      }
    #endif
  }

  @Test func aStoreInMemoryIsNamedAsInCoreData() throws {
    let description = Garage.makePersistentStoreDescription("Test.sqlite")
    description.type = .inMemory
    let garage = Garage(with: [description])
    try garage.park(Member("1"))
    #expect(try garage.retrieveAll(Member.self).count == 1)
    #expect(try Garage(with: [description]).retrieveAll(Member.self).isEmpty)
    #expect(description.url.map { !FileManager.default.fileExists(atPath: $0.path) } == true)
  }

  @Test func aNamedGarageIsInTheUsersDataDirectory() throws {
    let url = try #require(Garage.makePersistentStoreDescription("Folder/Main.garage").url)
    #expect(url.pathComponents.suffix(2) == ["Folder", "Main.garage"])
    #expect(url.path.contains(ProcessInfo.processInfo.processName))
    _ = Garage()
    _ = Garage(named: "Other")
  }
}
