import Foundation
import GarageStorage

// The types of GarageStorage's documentation.

struct Address: Codable, Hashable {
  var street: String
  var city: String
  var zip: String
}

class Person: Mappable {
  var id: String { name }
  var name = ""
  var address: Address?
  var age = 0
  var birthdate = Date()
  var importantDates: [Date] = []
  var siblings: [Person] = []
  var brother: Person?

  convenience init(_ name: String, age: Int = 0) {
    self.init()
    self.name = name
    self.age = age
  }
}

/// A person whose properties resolve lazily.
class Friend: Mappable {
  var id: String { name }
  var name = ""
  var age = 0
  @Reference var brother: Friend?
  @Reference var siblings: [Friend] = []

  convenience init(_ name: String) {
    self.init()
    self.name = name
  }
}

final class Pet: Mappable, Syncable {
  var id: Int { number }
  var number = 0
  var name = ""
  var syncStatus: SyncStatus = .notSynced

  private enum CodingKeys: CodingKey { case number, name }

  convenience init(_ number: Int, _ name: String = "", _ status: SyncStatus = .notSynced) {
    self.init()
    self.number = number
    self.name = name
    syncStatus = status
  }
}

func makeSam() -> Person {
  let sam = Person("Sam", age: 31)
  sam.address = Address(street: "330 Congress St.", city: "Boston", zip: "02140")
  sam.importantDates = [Date(), Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 100.25)]
  let nick = Person("Nick", age: 26)
  sam.brother = nick
  sam.siblings = [nick, Person("Emily", age: 24)]
  return sam
}
