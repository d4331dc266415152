import Foundation
import TestSupport
import Testing

@testable import GarageStorage

@Suite struct GarageStormTests {
  @Test(arguments: Kind.allCases)
  func threadsParkAndRetrieve(kind: Kind) throws {
    try kind.with { garage in
      try garage.parkAll((0..<8).map { Pet($0, "start") })
      let failures = Guarded<[String]>([])
      concurrently(6) { thread in
        var random = SeededRandom(UInt64(thread))
        do {
          for step in 0..<40 {
            let number = random.below(8)
            switch random.below(7) {
            case 0: try garage.park(Pet(number, "\(thread) \(step)"))
            case 1: try garage.setSyncStatus(SyncStatus(rawValue: random.below(4))!, for: Pet(number))
            case 2:
              try garage.withAutosaveDisabled {
                // Two objects that are always alike.
                try garage.park(Pet(100, "\(thread) \(step)"))
                try garage.park(Pet(101, "\(thread) \(step)"))
              }
            case 3: _ = try garage.retrieve(Pet.self, identifier: number)
            case 4:
              let names = try garage.retrieveAll(Pet.self).filter { $0.number >= 100 }.map(\.name)
              if Set(names).count > 1 { failures { $0.append("half a batch: \(names)") } }
            case 5: _ = try garage.retrieveAll(Pet.self, withStatus: .synced)
            default:
              _ = try garage.withDateEncodingStrategy(.secondsSince1970) { try garage.identifier(for: Pet(number)) }
            }
          }
        } catch {
          failures { $0.append("\(error)") }
        }
      }
      #expect(failures.current == [])
      #expect(try garage.retrieveAll(Pet.self).count >= 8)
    }
  }

  @Test(arguments: Kind.allCases)
  func readersSeeWhatWaitsWhileItIsSaved(kind: Kind) throws {
    try kind.with { garage in
      garage.isAutosaveEnabled = false
      try garage.parkAll([Pet(0, "0"), Pet(1, "0")])
      let failures = Guarded<[String]>([])
      let isOver = Guarded(false)
      concurrently(4) { thread in
        do {
          if thread == 0 {
            for step in 1...60 {
              try garage.parkAll([Pet(0, "\(step)"), Pet(1, "\(step)")])
              try garage.save()
            }
            isOver { $0 = true }
          } else {
            var last = 0
            while !isOver.current {
              let names = try garage.retrieveAll(Pet.self).compactMap { Int($0.name) }
              if names.count != 2 || names[0] != names[1] || names[0] < last {
                failures { $0.append("\(last) and then \(names)") }
                return
              }
              last = names[0]
            }
          }
        } catch {
          failures { $0.append("\(error)") }
          isOver { $0 = true }
        }
      }
      #expect(failures.current == [])
    }
  }

  @Test func severalGaragesOpenOneStore() throws {
    let directory = GarageDirectory()
    let garages = (0..<4).map { _ in directory.garage() }
    concurrently(4) { index in
      for number in 0..<10 { #expect(throws: Never.self) { try garages[index].park(Pet(index * 10 + number)) } }
    }
    for garage in garages { #expect(try garage.retrieveAll(Pet.self).count == 40) }
  }

  // @unchecked: read only.
  struct Shared: @unchecked Sendable { let friend: Friend }

  @Test(arguments: Kind.allCases)
  func threadsResolveOneReference(kind: Kind) throws {
    try kind.with { garage in
      let sam = Friend("Sam")
      sam.brother = Friend("Nick")
      sam.siblings = (0..<10).map { Friend("sibling \($0)") }
      try garage.park(sam)
      for _ in 0..<10 {
        let shared = Shared(friend: try #require(try garage.retrieve(Friend.self, identifier: "Sam")))
        let found = Guarded<Set<ObjectIdentifier>>([])
        concurrently(4) { _ in
          guard let brother = shared.friend.brother, shared.friend.siblings.count == 10 else { return }
          found { _ = $0.insert(ObjectIdentifier(brother)) }
        }
        #expect(found.current == [ObjectIdentifier(shared.friend.brother!)])
      }
    }
  }
}
