import Foundation
import GarageStorage
import WriteLog

// Another process for the garage's tests: reads commands from its standard input, one a line, and answers each with one
// line or, for loops, one line per write. What was answered was saved, whenever the process is killed.
//
// With the arguments `figures COUNT` it measures instead.

final class Item: Mappable, Syncable {
  var id: Int { number }
  var number = 0
  var text = ""
  var syncStatus = SyncStatus.notSynced

  private enum CodingKeys: CodingKey { case number, text }

  convenience init(_ number: Int, _ text: String, _ status: SyncStatus = .notSynced) {
    self.init()
    self.number = number
    self.text = text
    syncStatus = status
  }
}

struct Fact: Codable, Hashable {
  var words: Set<String>
}

func answer(_ text: String) {
  FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

func makeGarage(_ path: some StringProtocol) -> Garage {
  let description = PersistentStoreDescription(url: URL(fileURLWithPath: String(path)))
  description.mapSize = 1 << 30
  return Garage(with: [description])
}

let fact = Fact(words: Set((0..<100).map { "word \($0)" }))

func run(_ words: [Substring], _ garage: Garage) throws -> String {
  func number(_ index: Int) -> Int { Int(words[index]) ?? 0 }
  switch words[0] {
  case "park":
    try garage.park(Item(number(1), String(words[2])))
  case "log":
    // log ROOT FILE: logs what is done below a directory from now on.
    let status = write_log_begin(String(words[1]), String(words[2]))
    guard status == 0 else { return "error: \(status)" }
  case "fact": try garage.park(fact)
  case "forget": try garage.delete(fact)
  case "loop":
    // loop FIRST STEP SIZE: two items in each transaction, for ever.
    var next = number(1)
    let text = String(repeating: "x", count: number(3))
    while true {
      try garage.parkAll([Item(next, text), Item(next + 1_000_000, text)])
      answer(String(next))
      next += number(2)
    }
  case "wait":
    // Parks without saving, and answers.
    garage.isAutosaveEnabled = false
    for index in 0..<number(1) { try garage.park(Item(index, "")) }
  case "save": try garage.save()
  case "times":
    // times COUNT: sets the status of one item, and parks one, in turn.
    for index in 0..<number(1) {
      try garage.setSyncStatus(index % 2 == 0 ? .syncing : .synced, for: Item(0, ""))
    }
  case "bump":
    // bump COUNT FIRST: parks so many items of its own.
    for index in 0..<number(1) { try garage.park(Item(number(2) + index, "text \(index)")) }
  case "all":
    return try garage.retrieveAll(Item.self).map { String($0.number) }.joined(separator: " ")
  case "text":
    return try garage.retrieve(Item.self, identifier: number(1))?.text ?? "nil"
  case "status":
    return try garage.retrieveAll(Item.self, withStatus: SyncStatus(rawValue: number(1))!)
      .map { String($0.number) }.joined(separator: " ")
  default: return "unknown"
  }
  return "done"
}

if CommandLine.arguments.count > 2, CommandLine.arguments[1] == "figures" {
  try figures(Int(CommandLine.arguments[2]) ?? 100_000)
} else {
  let garage = makeGarage(CommandLine.arguments[1])
  while let line = readLine() {
    do {
      answer(try run(line.split(separator: " "), garage))
    } catch {
      answer("error: \(error)")
    }
  }
}
