import Testing

@testable import LMDBCaching

@Suite struct RecencyTableTests {
  @Test func aFullTableDropsAccesses() {
    let table = RecencyTable()
    let maximum = RecencyTable.maximum
    table.note("recent", recorded: 1_000, now: 1_000 + RecencyTable.granularity)
    #expect(table.isEmpty)
    for number in 0..<2 * maximum { table.note("key\(number)", recorded: 0, now: 1_000) }
    #expect((0..<maximum).allSatisfy { table.lastAccess(of: "key\($0)") == 1_000 })
    #expect((maximum..<2 * maximum).allSatisfy { table.lastAccess(of: "key\($0)") == nil })
    #expect(table.drain().count == maximum)
    #expect(table.isEmpty)
    // Draining the table makes room for others.
    for number in maximum..<2 * maximum { table.note("key\(number)", recorded: 0, now: 3_000) }
    #expect((maximum..<2 * maximum).allSatisfy { table.lastAccess(of: "key\($0)") == 3_000 })
    #expect(table.lastAccess(of: "key0") == nil)
  }
}
