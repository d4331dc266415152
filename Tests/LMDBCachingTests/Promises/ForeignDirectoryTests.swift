import Foundation
import LMDBCaching
import TestSupport
import Testing

@Suite struct ForeignDirectoryTests {
  let directory = CacheDirectory()

  static let refusals: Set<CacheError.Code> = [.invalidDirectory, .corruptedRecord]

  @Test(arguments: ForeignContent.allCases, Durability.allCases)
  func aDirectoryOfSomebodyElsesIsRefusedAndLeftAsItIs(_ content: ForeignContent, _ durability: Durability) throws {
    try content.place(in: directory.path)
    let before = try TreeImage(directory.path)
    let code = errorCode {
      let cache = try directory.open { $0.durability = durability }
      // What a cache does in its own directory.
      try cache.set(Data(count: 2 << 20), forKey: "large")
      try cache.set("v", forKey: "key")
      try cache.flush()
      try cache.sweepValues()
      try cache.removeAll()
      try cache.close()
    }
    #expect(code.map(Self.refusals.contains) == true, "\(code.map { "\($0)" } ?? "opened")")
    let after = try TreeImage(directory.path)
    #expect(before.losses(in: after) == [])
    #expect(before.additions(in: after) == [])
  }

  @Test(arguments: ForeignContent.allCases) func whatIsRefusedIsNamed(_ content: ForeignContent) throws {
    try content.place(in: directory.path)
    do {
      let cache = try directory.open()
      try cache.close()
      Issue.record("opened")
    } catch {
      // The log needs the directory's path.
      #expect(error.message.contains(directory.path))
    }
  }

  @Test(arguments: Durability.allCases) func anEmptyDirectoryBecomesACache(_ durability: Durability) throws {
    let cache = try directory.open { $0.durability = durability }
    try cache.set("v", forKey: "key")
    try cache.close()
    let again = try directory.open { $0.durability = durability }
    #expect(try again.value(String.self, forKey: "key") == "v")
    try again.close()
  }
}
