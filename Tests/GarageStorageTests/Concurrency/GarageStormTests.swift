import Foundation
import TestSupport
import Testing

@testable import GarageStorage

@Suite struct GarageStormTests {
  /// Runs `body` on several threads. Returns its errors and reports.
  func failures(of threads: Int, _ body: @escaping @Sendable (Int, (String) -> Void) throws -> Void) -> [String] {
    let failures = Guarded<[String]>([])
    concurrently(threads) { thread in
      do {
        try body(thread) { text in failures { $0.append(text) } }
      } catch {
        failures { $0.append("\(error)") }
      }
    }
    return failures.current
  }

  @Test(arguments: Kind.allCases)
  func threadsParkAndRetrieve(kind: Kind) throws {
    try kind.with { garage in
      try garage.parkAll((0..<8).map { Pet($0, "start") })
      let failures = failures(of: 6) { thread, report in
        var random = SeededRandom(UInt64(thread))
        for step in 0..<40 {
          let number = random.below(8)
          switch random.below(7) {
          case 0: try garage.park(Pet(number, "\(thread) \(step)"))
          case 1: try garage.setSyncStatus(SyncStatus(rawValue: random.below(4))!, for: Pet(number))
          case 2:
            try garage.withAutosaveDisabled {
              // Two objects that are always alike.
              for pet in [100, 101] { try garage.park(Pet(pet, "\(thread) \(step)")) }
            }
          case 3: _ = try garage.retrieve(Pet.self, identifier: number)
          case 4:
            let names = try garage.retrieveAll(Pet.self).filter { $0.number >= 100 }.map(\.name)
            if Set(names).count > 1 { report("half a batch: \(names)") }
          case 5: _ = try garage.retrieveAll(Pet.self, withStatus: .synced)
          default:
            _ = try garage.withDateEncodingStrategy(.secondsSince1970) { try garage.identifier(for: Pet(number)) }
          }
        }
      }
      #expect(failures == [])
      #expect(try garage.retrieveAll(Pet.self).count >= 8)
    }
  }

  @Test(arguments: Kind.allCases)
  func readersSeeWhatWaitsWhileItIsSaved(kind: Kind) throws {
    try kind.with { garage in
      garage.isAutosaveEnabled = false
      try garage.parkAll([Pet(0, "0"), Pet(1, "0")])
      let isOver = Guarded(false)
      let failures = failures(of: 4) { thread, report in
        defer { isOver { $0 = true } }
        if thread == 0 {
          for step in 1...60 {
            try garage.parkAll([Pet(0, "\(step)"), Pet(1, "\(step)")])
            try garage.save()
          }
          return
        }
        var last = 0
        while !isOver.current {
          let names = try garage.retrieveAll(Pet.self).compactMap { Int($0.name) }
          guard names.count == 2, names[0] == names[1], names[0] >= last else {
            return report("\(last) and then \(names)")
          }
          last = names[0]
        }
      }
      #expect(failures == [])
    }
  }

  // @unchecked: read only.
  struct Shared: @unchecked Sendable { let friend: Friend }

  /// Some reach an object through its own reference, others through that of an array.
  @Test(arguments: Kind.allCases)
  func threadsThatResolveAnObjectGetOneInstance(kind: Kind) throws {
    try kind.with { garage in
      let sam = Friend("Sam")
      sam.brother = Friend("Nick")
      sam.siblings = (0..<10).map { Friend("sibling \($0)") } + [Friend("Nick")]
      try garage.park(sam)
      for _ in 0..<20 {
        let shared = Shared(friend: try #require(try garage.retrieve(Friend.self, identifier: "Sam")))
        let found = Guarded<[ObjectIdentifier?]>([])
        concurrently(4) { thread in
          let friend = thread % 2 == 0 ? shared.friend.brother : shared.friend.siblings.last
          found { $0.append(friend.map { ObjectIdentifier($0) }) }
        }
        #expect(Set(found.current) == [shared.friend.brother.map { ObjectIdentifier($0) }])
      }
    }
  }
}
