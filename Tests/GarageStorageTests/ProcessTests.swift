import Foundation
import TestSupport
import Testing

@testable import GarageStorage

@Suite struct ProcessTests {
  let directory = GarageDirectory()

  func child() throws -> ChildProcess { try ChildProcess("GarageTestProcess", [directory.url.path]) }

  @Test(arguments: [1, 5, 17, 60, 200])
  func aKilledProcessLosesNothingItHadSaved(writes: Int) throws {
    let first = try child()
    first.send("loop \(writes % 2 == 0 ? 10 : 5_000)")
    for number in 0..<writes { #expect(first.readLine() == String(number)) }
    first.kill()
    let saved = (Int(first.readRemaining().last ?? "") ?? writes - 1) + 1
    let second = try child()
    let all = try #require(second.run("all")).split(separator: " ").compactMap { Int($0) }
    // At most one unacknowledged transaction, and only whole ones.
    let low = Set(all.filter { $0 < 1_000_000 })
    #expect(low.isSuperset(of: 0..<saved) && low.count <= saved + 1)
    #expect(Set(all.filter { $0 >= 1_000_000 }.map { $0 - 1_000_000 }) == low)
    #expect(second.run("park 7 again") == "done")
    #expect(second.run("text 7") == "again")
  }

  @Test func aKilledProcessLosesAllThatWaited() throws {
    let first = try child()
    #expect(first.run("park 9000 saved") == "done")
    #expect(first.run("wait 50") == "done")
    first.kill()
    #expect(try child().run("all") == "9000")
  }

  @Test func twoProcessesWriteAtOnce() throws {
    let (one, two) = (try child(), try child())
    #expect(one.run("park 0 old") == "done")
    #expect(two.run("text 0") == "old")
    #expect(one.run("park 0 start") == "done")
    for (first, second) in [("bump 150 1000", "bump 150 2000"), ("bump 100 3000", "times 101")] {
      one.send(first)
      two.send(second)
      #expect(one.readLine() == "done" && two.readLine() == "done")
    }
    for process in [one, two] {
      #expect(process.run("all")?.split(separator: " ").count == 401)
      #expect(process.run("status 2") == "0")
      // A status that is set elsewhere does not undo a parking.
      #expect(process.run("text 0") == "start")
      #expect(process.run("text 2149") == "text 149")
    }
  }

  @Test func aCutOffFileThatOthersHaveOpenIsAnError() throws {
    let other = try child()
    for number in 0..<20 { #expect(other.run("park \(number) \(String(repeating: "x", count: 4_000))") == "done") }
    let whole = try Data(contentsOf: directory.data)
    let file = try FileHandle(forWritingTo: directory.data)
    try file.truncate(atOffset: UInt64(whole.count / 2))
    try file.close()
    #expect(failure { try directory.garage().retrieveAll(Pet.self) }?.code == .damagedStore)
    other.kill()
  }
}
