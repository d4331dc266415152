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
    first.send("loop 0 1 \(writes % 2 == 0 ? 10 : 5_000)")
    for number in 0..<writes { #expect(first.readLine() == String(number)) }
    first.kill()
    let saved = (Int(first.readRemaining().last ?? "") ?? writes - 1) + 1
    let second = try child()
    let all = try #require(second.run("all")).split(separator: " ").compactMap { Int($0) }
    // At most one unacknowledged transaction, and only whole ones.
    let low = Set(all.filter { $0 < 1_000_000 })
    #expect(low.isSuperset(of: 0..<saved))
    #expect(low.count <= saved + 1)
    #expect(Set(all.filter { $0 >= 1_000_000 }.map { $0 - 1_000_000 }) == low)
    #expect(second.run("park 7 again") == "done")
    #expect(second.run("text 7") == "again")
  }

  @Test func aKilledProcessLosesAllThatWaited() throws {
    let first = try child()
    #expect(first.run("park 9000 saved") == "done")
    #expect(first.run("wait 50") == "done")
    first.kill()
    let second = try child()
    #expect(second.run("all") == "9000")
    #expect(second.run("wait 50") == "done")
    #expect(second.run("save") == "done")
    second.kill()
    let third = try child()
    #expect(third.run("all")?.split(separator: " ").count == 51)
  }

  @Test func aHashableObjectIsFoundInAnotherProcess() throws {
    // Each process orders sets differently.
    for _ in 0..<3 {
      #expect(try child().run("fact") == "done")
      #expect(try child().run("forget") == "done")
      #expect(try child().run("forget")?.hasPrefix("error") == true)
    }
  }

  @Test func twoProcessesWriteAtOnce() throws {
    let (one, two) = (try child(), try child())
    #expect(one.run("park 0 start") == "done")
    one.send("bump 150 1000")
    two.send("bump 150 2000")
    #expect(one.readLine() == "done" && two.readLine() == "done")
    one.send("times 101")
    two.send("bump 100 3000")
    #expect(one.readLine() == "done" && two.readLine() == "done")
    for process in [one, two] {
      #expect(process.run("all")?.split(separator: " ").count == 401)
      #expect(process.run("status 2") == "0")
      #expect(process.run("text 0") == "start")
      #expect(process.run("text 2149") == "text 149")
    }
  }

  @Test func aStatusSetElsewhereDoesNotUndoAParking() throws {
    let (one, two) = (try child(), try child())
    #expect(one.run("park 0 old") == "done")
    #expect(two.run("text 0") == "old")
    #expect(one.run("park 0 new") == "done")
    #expect(two.run("times 1") == "done")
    #expect(one.run("text 0") == "new")
    #expect(one.run("status 2") == "0")
  }
}
