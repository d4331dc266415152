/// What `import` did.
struct ExchangeSummary: Encodable {
  var examined = 0
  var taken = 0
  var takenBytes = 0
  /// Left as they are, since the cache has something under their keys.
  var present = 0
  var expired = 0
  var isComplete = false

  var text: String {
    var table = TextTable([.left, .right])
    table.append(["taken", Formatting.grouped(taken)])
    table.append(["  bytes", Formatting.grouped(takenBytes)])
    table.append(["already there", Formatting.grouped(present)])
    table.append(["expired", Formatting.grouped(expired)])
    return table.text
  }
}
