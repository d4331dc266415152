import Foundation
import LMDBCaching
import Testing

@Suite struct VerifyTests {
  let scratch = try! Scratch()

  private var data: URL { URL(fileURLWithPath: scratch.cache + "/data.mdb") }

  private func fill() throws {
    let cache = try LMDBCache(directory: URL(fileURLWithPath: scratch.cache), configuration: .withoutMemory)
    for number in 0..<500 { try cache.set("value", forKey: "key:\(1000 + number)") }
    try cache.close()
  }

  private struct Summary: Decodable { let pages, leafPages, bytes: Int }

  @Test func aSoundCache() async throws {
    try fill()
    let before = try Data(contentsOf: data)
    let result = try await Tool.run("verify", scratch.cache)
    #expect(result.status == 0 && result.text.contains("sound"), "\(result.errors)")
    let summary: Summary = try await Tool.run("verify", "--json", scratch.cache).json()
    #expect(summary.bytes == before.count && summary.leafPages > 2 && summary.pages > summary.leafPages)
    #expect(try Data(contentsOf: data) == before)
  }

  /// No command may recreate a damaged cache.
  @Test(arguments: [
    ["ls"], ["get", "key:1000"], ["stat"], ["rm", "key:1000"], ["trim", "--count", "1"], ["clear"],
    ["set", "key", "value"],
  ])
  func noCommandMakesADamagedCacheAnew(_ words: [String]) async throws {
    try fill()
    var bytes = try Data(contentsOf: data)
    bytes.removeLast(bytes.count / 2)
    try bytes.write(to: data)
    for _ in 0..<2 {
      let result = try await Tool.run(words + ["--cache", scratch.cache])
      #expect(result.status == 4)
      #expect(result.output.isEmpty)
      #expect(result.errors.contains("damaged") && result.errors.contains("Nothing was changed"), "\(result.errors)")
      #expect(try Data(contentsOf: data) == bytes)
      let names = try FileManager.default.contentsOfDirectory(atPath: scratch.cache)
      #expect(!names.contains { $0.hasPrefix("quarantine") })
    }
    // Opening it as a program does recovers it.
    let cache = try LMDBCache(directory: URL(fileURLWithPath: scratch.cache), configuration: .withoutMemory)
    #expect(cache.statistics.recoveries == 1)
    try await cache.close()
  }

  @Test func aDamagedCacheIs4AndIsLeftAsItIs() async throws {
    try fill()
    var bytes = try Data(contentsOf: data)
    bytes.removeLast(bytes.count / 2)
    try bytes.write(to: data)
    let names = try FileManager.default.contentsOfDirectory(atPath: scratch.cache).sorted()
    let result = try await Tool.run("verify", scratch.cache)
    #expect(result.status == 4)
    #expect(result.output.isEmpty)
    #expect(result.errors.contains("page ") && result.errors.contains("truncated"), "\(result.errors)")
    #expect(try Data(contentsOf: data) == bytes)
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.cache).sorted() == names)
    // The next program to open it sets it aside.
    let cache = try LMDBCache(directory: URL(fileURLWithPath: scratch.cache), configuration: .withoutMemory)
    try await cache.close()
    #expect(try await Tool.run("verify", scratch.cache).status == 0)
  }

  private struct Report: Decodable {
    struct Damage: Decodable { let code, message: String }

    let isWhole: Bool
    let entries: Int?
    let pendingWrites, damagedEntries, transactionsMeanwhile: Int
    let damage: [Damage]
  }

  @Test func aCacheThatIsOpenIsVerifiedAsOfItsLastCommit() async throws {
    try fill()
    let cache = try LMDBCache(directory: URL(fileURLWithPath: scratch.cache), configuration: .withoutMemory)
    try cache.set("value", forKey: "another")
    try await cache.flush()
    let report: Report = try await Tool.run("verify", "--values", "--json", scratch.cache).json()
    #expect(report.isWhole && report.entries == 501 && report.damagedEntries == 0 && report.transactionsMeanwhile == 0)
    try await cache.close()
  }

  /// The structure and the sum over the entries are sound: only the value's checksum reveals the damage.
  @Test func aDamagedValueIsFoundByItsChecksum() async throws {
    try fill()
    #expect(try await Tool.run("set", "key:1077", "of its own", "--cache", scratch.cache).status == 0)
    var bytes = try Data(contentsOf: data)
    // Change every copy, since free pages may have it too.
    while let place = bytes.range(of: Data("of its own".utf8)) { bytes[place.lowerBound] ^= 1 }
    try bytes.write(to: data)
    #expect(try await Tool.run("verify", "--cache", scratch.cache).status == 0)
    let result = try await Tool.run("verify", "--values", scratch.cache)
    #expect(result.status == 4 && result.text.contains("damaged entries") && result.text.contains("checksum"))
    let json = try await Tool.run("verify", "--values", "--json", scratch.cache)
    let report: Report = try json.json()
    #expect(json.status == 4 && report.isWhole && report.entries == 500 && report.damagedEntries == 1)
    #expect(report.damage.map(\.code) == ["corruptedRecord"])
    let key = try #require(report.damage[0].message.split(separator: "\"").dropFirst().first)
    #expect(try await Tool.run("get", String(key), "--cache", scratch.cache).status == 4)
  }

  @Test func withoutACacheIs66() async throws {
    let result = try await Tool.run("verify", scratch.cache)
    #expect(result.status == 66)
    #expect(try scratch.names.isEmpty)
  }
}
