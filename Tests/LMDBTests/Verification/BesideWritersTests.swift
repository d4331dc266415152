import Testing

@testable import LMDB

@Suite struct BesideWritersTests {
  private static func finding(_ number: Int) -> DataFileError {
    .finding(DataFileFinding(.meta, page: 0, "transactions \(number) and \(number + 3) do not follow each other"))
  }

  @Test func whatIsAnotherThingAtEachLookIsNotBelieved() throws {
    var looks = 0
    let result = try DataFileVerifier.settled(pause: 0) { () throws(DataFileError) in
      looks += 1
      // Two equal readings, by chance.
      if looks < 40 { throw Self.finding(looks / 2) }
      return "sound"
    }
    #expect(result == "sound")
    #expect(looks == 40)
  }

  @Test func whatStaysIsBelieved() {
    var looks = 0
    do throws(DataFileError) {
      try DataFileVerifier.settled(pause: 0) { () throws(DataFileError) in
        looks += 1
        throw Self.finding(looks < 3 ? looks : 7)
      }
      Issue.record("found nothing")
    } catch {
      #expect(error == Self.finding(7))
    }
    #expect(looks == 7)
  }
}
