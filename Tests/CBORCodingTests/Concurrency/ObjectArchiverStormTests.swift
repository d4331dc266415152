import Foundation
import TestSupport
import Testing

@testable import CBORCoding

/// Archivers on many threads share their class information and scratch memory.
@Suite struct ObjectArchiverStormTests {
  /// A class for each number that no other test uses.
  private static func unmet(_ number: Int) -> NSObject {
    switch number % 4 {
    case 0: Namespace.Generic<UInt128>(number)
    case 1: Namespace.Generic<[UInt128]>(number)
    case 2: Namespace.Generic<Set<UInt128>>(number)
    default: Namespace.Generic<UInt128?>(number)
    }
  }

  @Test func classesAreMetByAllThreadsAtOnce() {
    let failures = Guarded<[String]>([])
    concurrently(8) { thread in
      for round in 0..<200 {
        let shared = Note(title: "text", count: thread * 1_000 + round)
        let root = NSArray(array: [shared, shared, Self.unmet(round), Box(NSNumber(value: shared.count))])
        let error = message {
          let back = try unarchive(archive(root)) as? NSArray
          let first = back?.object(at: 0) as? Note
          guard first?.count == shared.count, back?.object(at: 1) as? Note === first,
            (back?.object(at: 3) as? Box)?.value as? Int == shared.count
          else { throw CBORCodingError(.decodingFailed, "Thread \(thread), round \(round): another object came back.") }
        }
        if !error.isEmpty { failures { $0.append(error) } }
      }
    }
    #expect(failures.current == [])
  }
}
