// Every limit there is, with unit and reason. Nothing in the service grows without one of these.
//
// Names end in what they bound: Max, Ms, Bytes. What an operator may change is in config.ts and starts from here. What may fill the
// memory has a part of what there is of it as a bound, too: a machine with 4 GB has all of the numbers that stand here.

import { memoryIsScarce, withinMemory } from './process/memory.ts'

const kib = 1024
const mib = 1024 * kib
const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** A body over HTTP is in memory some four times while it is read: as bytes, whole, as text and decoded. */
const bodyParts = memoryIsScarce() ? 16 : 8

export const limits = {
  /** Long work on the main loop (lib/pace.ts). */
  pace: {
    /** Time that a session works before others have their turn: a longer one would be felt by who types. */
    sliceMs: 3,
    /** Where others do something: each of their steps waits for a slice, and they take several. */
    busySliceMs: 1,
    /** Nobody else did anything for so long: nobody is in a hurry. */
    calmMs: 100,
    /** Slices in one turn of the loop at most. */
    slicesMax: 64,
    /** Who had so much of slices in one or two stretches of so long waits for those who had less, so many turns of the loop at most. */
    costlyMs: 10,
    costlyWindowMs: 1000,
    costlyRoundsMax: 4,
    /** Time that a task works on a thread before the others of it have their turn. */
    threadMs: 20,
    /** How often those who wait for one of few permits ask again. */
    permitMs: 20,
  },
  /** Actors: one per user. */
  actor: {
    /** Commands waiting at one user; more is a busy answer. A delivery storm to one user fills this first. */
    queueLengthMax: 1000,
    /** Messages one command may change; larger sets come in several commands. */
    messagesMax: 200_000,
    /** Messages that one command may encrypt on their way into a folder. */
    encryptedMax: 500,
    /** An actor with nothing to do and nobody watching is let go after this. */
    idleMs: 5 * minute,
    /** Ids of messages that an account remembers with their threads. */
    referencesMax: 4000,
    /** An account with no more ids than this has all of them in memory; of others they are looked up one by one. */
    referencesReadMax: 1000,
    /** Deliveries that an account remembers, to tell repeated ones whose first copy is still on its way to the disk. */
    deliveriesMax: 1000,
  },
  /** The writer thread. */
  writer: {
    /** With less room than this on its disk the database cannot be opened: what the engine maps into memory beside it, and the first rows. */
    roomBytesMin: 64 * kib,
    /** Units in one transaction. Past some hundred the sync no longer matters; a short batch keeps latency low. */
    batchUnitsMax: 512,
    /** Bytes of bound values in one transaction. */
    batchBytesMax: 8 * mib,
    /** Bytes that do not wait for what else the loop brings: the thread begins with them. */
    leaveBytes: 16 * kib,
    /** Characters of a text that crosses as bytes: shorter ones are copied faster than their bytes are made. */
    longTextMin: 16 * kib,
    /** Where commits take so long, a small one waits for those who are back soon: this is small. */
    slowSyncMs: 2,
    companyBytesMax: 64 * kib,
    /** Units waiting for a batch; more is a busy answer. */
    pendingUnitsMax: 20_000,
    /** Bytes waiting for a batch. */
    pendingBytesMax: withinMemory(256 * mib, 8),
    /** Pages that the writer keeps in memory; who reads keeps half of it. */
    pagesBytesMax: withinMemory(32 * mib, 32),
    /** Pages of the write-ahead log before it is copied back into the database. */
    checkpointPages: 8000,
    /** Pages of it at which the writer waits for the thread that copies, and for how long at most. */
    logPagesMax: 64_000,
    checkpointMs: 5 * second,
    /** A value from this size on gives its memory back when it is written; smaller ones are left to the collector. */
    releasedBytesMin: 4 * kib,
  },
  /** Pictures of the database that are taken at once: handles kept for the next ones, how long what nobody wanted is, and the pages each keeps. */
  reader: { picturesMax: 16, pictureMs: 10 * second, picturePagesBytes: mib },
  /** Message bodies. */
  body: {
    /** A whole message, as received (api-semantics 10.2). */
    messageBytesMax: 64 * mib,
    /** Received bytes kept in memory before they go to a file of their own. */
    spillBytes: 1 * mib,
    /** The same of all messages that come in on a thread; beyond it a file is made once there are `chunkBytes` of one. */
    comingBytesMax: withinMemory(128 * mib, 16),
    /** Room on the disk that scratch files leave for what has arrived and for the store: the smaller of these, looked at again so soon and
     *  after so many bytes. */
    roomKeptBytes: 256 * mib,
    roomKeptShare: 0.05,
    roomMs: 1 * second,
    roomBytes: 16 * mib,
    /** Age at which the copy of a file that was on its way to its place is nobody's: he who made it was killed. */
    copyMs: 1 * day,
    /** Chunk in which bodies are streamed in and out. */
    chunkBytes: 256 * kib,
    /** A leaf part from this size on is stored once under its hash. */
    sharedPartBytesMin: 4 * kib,
    /** The same for text that is not an attachment: below, it packs better together with the rest of its message. */
    sharedTextBytesMin: 32 * kib,
    /** A stored part larger than this is a file of its own instead of a row (bench/NOTES.md, Where bodies lie). */
    inlineBytesMax: 256 * kib,
    /** A body up to this size is put together at once when it is opened; larger ones are streamed. */
    wholeBytesMax: 1 * mib,
    /** Opened bodies kept for those who read them again; a mailbox of 10,000 small messages fits. */
    cacheBytesMax: withinMemory(64 * mib, 16),
    /** Pieces of long answers that are read ahead on the thread at once, and how long one of them may take. */
    aheadMax: 16,
    aheadMs: 2 * second,
    /** Parts known to unpack, and bodies remembered because they cannot be read. */
    provenMax: 10_000,
    unreadableMax: 10_000,
    /** A file that no row names any more stays this long for those who are reading it. */
    fileGraceMs: 60 * second,
    /** How often files that no row names are looked for, on how many days one is seen before it goes, how many are told. */
    strayRoundMs: 24 * hour,
    strayDays: 14,
    straysTold: 50,
  },
  /** Bodies in an S3-compatible store. */
  objects: {
    /** Connections of the main loop and of each thread that asks, and calls that may be under way or wait for one. */
    connections: 16,
    callsMax: 512,
    connectMs: 5 * second,
    /** For how long the store may be silent, and what one call may take in all: 64 MB at 5 Mbit/s. */
    silenceMs: 15 * second,
    callMs: 2 * minute,
    /** Times a call is tried, none of them begun after so long, and the pause before the second; four times that before the third. */
    tries: 3,
    triesMs: 10 * second,
    againMs: 100,
    /** Read at once by who reads on: more calls would cost more than the bytes. The first one is for what was asked. */
    readBytes: 1 * mib,
    /** Of one message on their way at once. */
    putsMax: 4,
    /** An answer in words: a thousand names of 200 characters, in XML. */
    listBytesMax: 4 * mib,
    /** Characters that are shown of what it says of a refusal. */
    saidMax: 200,
    /** Those that are younger are left alone whether a row names them or not: longer than any delivery takes, and than clocks differ. */
    youngMs: 24 * hour,
    /** Looked at together, where only their sizes are asked for. */
    checkedMax: 16,
    /** Numbers of rows that are looked through together for those to be carried: far less than a statement may take. */
    lookedAtMax: 10_000,
  },
  log: {
    /** The last lines, which are kept in memory: some hours of a small service, and their characters. */
    tailLinesMax: 5000,
    tailBytesMax: 4 * mib,
    /** Characters of one of them; what is longer is cut to its head. */
    tailLineMax: 8192,
    /** Lines of one answer, those looked at for it before others get a turn, and those that wait for a reader who is slow. */
    pageLinesMax: 500,
    waitingLinesMax: 1000,
    /** Who reads along at once. */
    readersMax: 10,
    /** One who does so comes again after that, with a token that is still good. */
    liveMs: 10 * minute,
    /** What is met again and again is told once in this time. */
    recurringMs: 1 * minute,
    /** Lines kept while the log cannot be written. */
    waitingBytesMax: 256 * kib,
  },
  /** Lines of the log about the traffic (lib/journal). */
  journal: {
    /** What the numbers below count. */
    windowMs: minute,
    /** Lines about messages in, and about attempts out: more than a busy server has, and an end to what a loop can fill. */
    linesMax: 600_000,
    /** Lines about failed logins, and about refusals: a hundred a second are read by nobody. */
    strangeLinesMax: 6000,
    /** Of those from one network: more than any rule of a firewall waits for. */
    networkLinesMax: 30,
    /** Characters of what a stranger said. */
    textLengthMax: 256,
    /** Fields of a call that a line names. */
    fieldsMax: 50,
    /** Recipients of a message that a line names. */
    recipientsMax: 50,
  },
  /** What the MIME parser follows before it takes the rest as text. */
  mime: {
    /** Nested multiparts and messages. */
    depthMax: 100,
    /** Parts in one message. */
    partsMax: 1000,
    /** Bytes of one header block that are parsed; the rest is kept but not looked at. */
    headerBytesMax: 256 * kib,
    /** Bytes of a header some of whose lines are kept for lists, and of those lines; longer ones are picked when asked for. */
    listedHeaderBytesMax: 64 * kib,
    listedLinesMax: 16 * kib,
    /** Header bytes kept while one message is read, all its parts together. */
    headersBytesMax: 2 * mib,
    /** Bytes of a boundary (RFC 2046 allows 70, real mail has had 7,000); a multipart with a longer one is text. */
    boundaryLengthMax: 8 * kib,
    /** Header fields that are parsed. */
    headerFieldsMax: 2000,
    /** Addresses in one header field, as many as may be written over the API (compose.addressesMax), and words, comments and signs of it that are looked at: ten for each of them. */
    addressesMax: 10_000,
    addressWordsMax: 100_000,
    /** Words and signs of one address with its name: more is no name, and is looked at in one go. */
    entryWordsMax: 500,
    /** Characters of an attachment's name. */
    filenameLengthMax: 255,
    /** Characters of a Message-ID, and identifiers kept of one References field. */
    messageIdLengthMax: 998,
    referencesMax: 200,
    /** Identifiers in a References field that is written here. */
    referencesWrittenMax: 50,
    /** Pictures lifted out of one HTML text. */
    inlineImagesMax: 500,
    /** Decoded text kept for filters and search, a message. */
    textBytesMax: 256 * kib,
    /** Decoded text looked at for the preview; where that shows nothing (a page begins with pages of style), so much. */
    introBytesMax: 4 * kib,
    introPageBytesMax: 128 * kib,
    /** Characters of the preview. */
    introLengthMax: 256,
  },
  /** Spans for a collector (lib/tracing). */
  tracing: {
    /** Spans that wait for it, a kilobyte each or less; more are dropped. */
    waitingMax: 4096,
    /** Those of one request, and how long they are gathered. */
    batchMax: 512,
    gatherMs: 5 * second,
    /** Time for one request, and what is read of its answer. */
    postMs: 10 * second,
    answerBytesMax: 64 * kib,
    /** Rest after a failure, doubled with each further one. */
    restMs: 1 * second,
    restMsMax: 1 * minute,
    /** How long a service that ends waits for the last ones to be taken. */
    closeMs: 2 * second,
    /** Characters of one attribute. */
    textLengthMax: 256,
  },
  /** The HTTP front. */
  http: {
    /** Characters of a header field of a message that an answer repeats as one of its own; programs take 8 to 16 KB of all of them. */
    repeatedLengthMax: 2000,
    /** Connections at once, and from one network. */
    connectionsMax: 10_000,
    connectionsPerNetworkMax: 1000,
    /** Silence of a client that is to send or to take something, and time for a whole head: uWebSockets.js has it built in. */
    idleMs: 10 * second,
    /** Time after which a connection without a request is surely gone: it is ended after ten seconds. */
    silentMs: 15 * second,
    /** Requests that may wait on one connection for the answers before theirs. */
    pipelineLengthMax: 64,
    /** How long the last bytes of a connection that is closed may take to leave. */
    lastBytesMs: 1 * second,
    /** Time for the whole body of a request that needs no token. */
    strangeBodyMs: 10 * second,
    /** JSON, urlencoded and multipart text together, unless an endpoint says otherwise. */
    bodyBytesMax: 2 * mib,
    /** Bytes of an answer to the page from which on it is compressed; shorter ones fit into a packet or two. */
    packedLengthMin: 4096,
    /** Answers whose text may take less are made bytes in one piece of memory that stays. */
    scratchBytes: 512 * kib,
    /** A piece of an answer in chunks that uWebSockets.js gathers with its length, and the head before it, in the 16 KiB it writes at once. */
    gatheredBytesMax: 12 * kib,
    /** How long a browser keeps the empty frame for mail. */
    frameSeconds: 3600,
    /** The same of a request that needs no token: half of `inFlightMax` of them are a quarter of `heldBytesMax`. */
    strangeBodyBytesMax: 64 * kib,
    /** A body that carries a message or a file. */
    uploadBytesMax: withinMemory(96 * mib, bodyParts),
    /** A path parameter (api-semantics 1.1). */
    pathParameterLengthMax: 196,
    /** Nesting of JSON and of bracketed keys. */
    nestingMax: 16,
    /** Keys of one query string or form. */
    keysMax: 1000,
    /** Values in one JSON body, at every depth. */
    valuesMax: 100_000,
    /** Requests being answered at once; more get 503, and from half of it those that need no token. */
    inFlightMax: 4096,
    /** Part of them that one account may have, more than its streams (`updates.streamsMax`). */
    accountShare: 1 / 4,
    /** Time for a whole body to arrive. */
    bodyMs: 5 * minute,
    /** Time for an endpoint to answer. */
    requestMs: 60 * second,
    /** Largest page of a list (wire-details 1). */
    pageSizeMax: 250,
    pageSize: 20,
    /** Bytes of stored text in the rows of one page of messages; what goes past it is for the next page. */
    pageBytesMax: 512 * kib,
    /** The stored text of a row that has more is read by itself: that takes as long as a dozen rows. */
    rowBytesMin: 8 * kib,
    /** Rows with more of it are printed in slices. */
    slicedLengthMin: 64 * kib,
    /** Text of a cursor. */
    cursorLengthMax: 1024,
    /** Wrong tokens that are remembered, so that each is logged once. */
    wrongTokensMax: 10_000,
    /** Proxies one behind the other that are believed who is behind them. */
    proxyHopsMax: 32,
    /** Request line and headers together; 431 past it. */
    headerBytesMax: 32 * kib,
    /** Bytes of one body that may wait for whoever takes it as a stream before the socket is paused. */
    bodyWindowBytes: 256 * kib,
    /** Bytes of all bodies held in memory at once; more is a busy answer. Strangers have a part of it, and one account. */
    heldBytesMax: withinMemory(512 * mib, bodyParts),
    heldStrangeShare: 1 / 4,
    heldAccountShare: 1 / 2,
    /** Bytes of a refused body that are read and thrown away so that the client sees the answer; more closes. */
    discardBytesMax: 128 * mib,
    /** Bad fields named in one answer. */
    problemsMax: 50,
    /** Segments of a path that are looked at. */
    segmentsMax: 16,
    /** Silence in an event stream before a comment is sent (api-semantics 10.11). */
    eventIdleMs: 15 * second,
    /** While an answer is under way its caller is looked at anew at most this often. */
    askAgainMs: 1 * second,
    /** How long a stopping service waits for requests that are being answered. */
    drainMs: 10 * second,
    /** Changes of certificates within this time are one. */
    renewMs: 200,
    /** How long connections that began under earlier certificates may go on. */
    retireMs: 1 * hour,
    /** How often overdue requests are looked for. */
    sweepMs: 1 * second,
    /** Characters of an x-request-id that is taken over. */
    requestIdLengthMax: 64,
    /** Of what a browser says it is, as far as it is read. */
    userAgentLengthMax: 512,
  },
  /** Accounts that have no number of their own and whose number is no setting (api-semantics 6.1). */
  user: {
    /** Messages received in a window, as shown; only an account's own number is enforced. */
    receivedMax: 60,
    receivedWindowMs: 1 * hour,
    /** How old figures over all accounts may be in /metrics. */
    figuresMs: minute,
    /** Newest messages a POP3 session sees. */
    pop3MessagesMax: 250,
    /** IMAP sessions at once. */
    imapConnectionsMax: 15,
    /** Addresses up to which an account may give itself more; an operator may give it any number. */
    ownAddressesMax: 100,
    /** A thousand years: with it, the end of a message is still a date. */
    retentionMsMax: 365_000 * day,
  },
  /** Access tokens (api-semantics 1.2). */
  token: {
    /** Tokens of one account that come from logins, as many again that somebody stays with; with another one the least lately used ends. */
    ofAccountMax: 250,
    /** A user token's end is pushed out at most this often. */
    extendMs: hour,
    /** Ended tokens removed in one go. */
    sweepRowsMax: 1000,
    /** How long an operator acts as a user with one token: a look at a question, not a stay. */
    impersonatedMs: hour,
    /** Characters of what a token is for, and of why somebody acts as a user. */
    labelLengthMax: 255,
    /** Domains that one may be bound to. */
    domainsMax: 1000,
  },
  /** Health checks (api-semantics 10.1). */
  /** Backups that come by themselves. */
  backup: {
    /** How often it is looked whether one is due. */
    lookMs: minute,
    /** After one that failed. */
    restMs: 10 * minute,
  },
  /** What is kept of the metrics: a row of some hundred bytes each, 2,500 in all. */
  figures: {
    /** How often a sample is taken, and how long it is kept. */
    fineMs: minute,
    fineKeptMs: day,
    /** What samples are summed up to, and how long that is kept. */
    coarseMs: 10 * minute,
    coarseKeptMs: 7 * day,
    /** Spans summed up in one go, after a while in which nobody did: a day. */
    spansMax: 144,
    /** Points of one answer, and how many there are where nobody says. */
    pointsMax: 1500,
    pointsUsual: 300,
  },
  /** Looks at the net by `teal setup` and `teal doctor`. */
  probe: {
    /** One of them. */
    waitMs: 5 * second,
    /** Of what a server says first. */
    lineLengthMax: 200,
    /** Clocks further apart than this break one-time codes and signatures. */
    clockOffMs: 30 * second,
    /** Free room below which a disk is nearly full: a day of mail at a small server. */
    diskFreeBytesMin: 1024 * mib,
    /** The same as a share of the disk. */
    diskFreeShareMin: 0.05,
    /** How long before its end a certificate should have been renewed. */
    certificateMsMin: 14 * day,
    /** Age of the oldest queued message that nobody wonders about, and that somebody should look at. */
    queueWarnMs: 4 * hour,
    queueWrongMs: 24 * hour,
    /** Age of a backup that is too old where nothing says how often they are made. */
    backupMs: 2 * day,
    /** How often `teal setup` looks again what is still missing. */
    pollMs: 15 * second,
  },
  health: {
    /** Each of the four checks. */
    checkMs: 10 * second,
    /** How long an answer serves those without a token. */
    keptMs: second,
  },
  /** Connections of the line protocols. */
  net: {
    /** Time for a trusted proxy to say who is behind it. */
    proxyHeaderMs: 5 * second,
    /** Of what it says (PROXY protocol 2), with what it adds about TLS and itself. */
    proxyHeaderBytesMax: 4 * kib,
    /** Longest line, its end included, where the protocol sets no other. */
    lineBytesMax: 8 * kib,
    /** Bytes that are read ahead of a session before its socket is paused. */
    inputBytesMax: 128 * kib,
    /** Bytes kept of the start and of the end of such a line: who sent it is answered by the tag it began with. */
    longLineBytes: 128,
    /** Bytes of one line that is too long, thrown away to find its end; more closes. */
    skipBytesMax: 1 * mib,
    /** Chunks that wait for a line end before small ones are put together, and what counts as small. */
    chunksMax: 16,
    chunkBytesMin: 512,
    /** Pipelined lines handled before everybody else has a turn. */
    linesPerTurn: 64,
    /** Output that the peer has not taken before no further line of it is handled. */
    backlogBytesSoft: 64 * kib,
    /** Output that the peer has not taken before it is cut off. Writers that stream wait long before. */
    backlogBytesMax: 16 * mib,
    /** Time in which a peer must take something of the output that waits for it. */
    stallMs: 5 * minute,
    /** Time for a TLS handshake. */
    handshakeMs: 30 * second,
    /** Time a peer has to close after we did. */
    lingerMs: 3 * second,
    /** How often overdue connections are looked for. */
    sweepMs: 1 * second,
    /** Descriptors that are reckoned with where nobody says how many there may be. */
    descriptorsMax: 1024,
    /** Descriptors kept back from connections where there are enough; where there are few, half of them. */
    descriptorsKeptMax: 4096,
    /** Part of all connections that one listener may have, so that the others keep some. */
    listenerShare: 3 / 4,
    /** How many times as many connections the networks around one may have: of IPv4 the address and its /24, of IPv6 /64,
     *  /48 and /32. */
    networkSteps: [1, 4, 20],
    /** Part of a network's connections that strangers may have. */
    strangerShare: 1 / 4,
    /** Networks somebody logged in from that are known, and for how long. */
    knownMax: 20_000,
    knownMs: 1 * day,
    /** Networks that are looked at for a connection that has to go. */
    groupsLookedAt: 64,
    /** How long those who are in the middle of something stay before those who wait idle, counted from when they were let in or handed in a
     *  message: what takes longer comes again where room is needed. */
    midwayMs: 1 * minute,
    /** Time a connection that has to go has to take its last word. */
    displaceMs: 1 * second,
    /** Connections the kernel may hold until they are accepted; a storm of logins comes at once. */
    acceptLengthMax: 2048,
    /** Characters of one SASL response (RFC 4954 4). */
    saslLengthMax: 12_288,
    /** Characters of what a program calls its session. */
    clientTokenLengthMax: 256,
  },
  /** SMTP and LMTP. */
  smtp: {
    /** Sessions at once on one listener. */
    sessionsMax: 2000,
    /** Sessions at once from one network; large senders open some twenty from each address. */
    sessionsPerNetworkMax: 100,
    /** Time and commands (RCPT, DATA and BDAT not among them) without a message before a session is closed, over LMTP the
     *  commands so many times over: a relay meets unknown recipients all day. */
    messagelessMs: 10 * minute,
    messagelessCommandsMax: 200,
    messagelessLmtpTimes: 20,
    /** Time from connecting to a successful login, and commands before it, where one is needed. */
    loginMs: 3 * minute,
    loginCommandsMax: 50,
    /** Recipients of one message (RFC 5321 4.5.3.1.8 asks for 100 at least). */
    recipientsMax: 1000,
    /** Time for the next command, to its last byte, and silence within a message before a session is closed (RFC 5321 4.5.3.2.7). */
    idleMs: 5 * minute,
    /** Commands that were refused, since the last message that was taken, before the session is closed. */
    errorsMax: 20,
    /** Recipients that were refused in one SMTP session before it is closed: who asks for more is looking for names. */
    refusedRecipientsMax: 200,
    /** Wrong recipients of a session, or twice as many of its network in an hour, from which on answers wait, each so much longer. */
    tarpitFrom: 5,
    tarpitMs: second / 2,
    tarpitMaxMs: 10 * second,
    /** Wrong recipients of one network (/24, /64) in an hour, beyond which nothing is taken from it unless mail is taken for as many names
     *  besides; of the /48 and the /32 around a /64 so many times as many as `net.networkSteps` has. */
    networkUnknownMax: 500,
    /** A network far below that is not looked up again for so long, and of how many that is remembered. */
    networkQuietMs: second,
    networksQuietMax: 1000,
    /** Points from which on mail has to come twice; how long it has to wait at least, may take at most, and is then let in at once. */
    greylistFrom: 25,
    greylistMs: 3 * minute,
    greylistWindowMs: day,
    greylistKeptMs: 36 * day,
    /** How long a message may be held before it is sent (RFC 4865). */
    holdMaxMs: 30 * day,
    /** Refused passwords before the session is closed. */
    authFailuresMax: 3,
    /** A command with its parameters (RFC 5321 4.5.3.1.4 asks for 512, extensions add to it). */
    commandBytesMax: 2048,
    /** A path with its brackets (RFC 5321 4.5.3.1.3 asks for 256; names in UTF-8 are longer). */
    pathBytesMax: 512,
    /** Time for one whole message to arrive, and for all recipients before it; a few bytes a minute hold a session no longer. */
    messageMs: 1 * hour,
    /** Bytes of a refused message that are read and thrown away so that the client sees the answer; more closes. */
    discardBytesMax: 128 * mib,
    /** How long a stopping service waits for sessions in the middle of a message. */
    drainMs: 10 * second,
  },
  /** IMAP. */
  imap: {
    /** Sessions at once on one listener. */
    sessionsMax: 10_000,
    /** Sessions at once from one network: programs open several, and whole offices share one address. */
    sessionsPerNetworkMax: 2000,
    /** Time from connecting to a successful login, and commands before it. */
    loginMs: 3 * minute,
    loginCommandsMax: 100,
    /** Silence of a session that has logged in (RFC 9051 5.4 asks for 30 minutes at least). */
    idleMs: 31 * minute,
    /** Silence in the middle of a command or a literal. */
    commandMs: 5 * minute,
    /** A client that takes nothing of what it asked for is let go after this. */
    stallMs: 5 * minute,
    /** Text and small literals of one command. Long lists of uids are real. */
    commandBytesMax: 512 * kib,
    /** The same before login. */
    commandBytesBeforeLoginMax: 8 * kib,
    /** A literal that is not a message, before login. */
    literalBytesBeforeLoginMax: 1 * kib,
    /** Bytes of a refused literal that are read and thrown away so that the client sees the answer; more closes. */
    discardBytesMax: 1 * mib,
    /** The same of messages, for who has logged in. */
    discardMessageBytesMax: 128 * mib,
    /** Ranges in one message set. */
    setRangesMax: 50_000,
    /** Parentheses, NOTs and ORs within each other. */
    nestingMax: 50,
    /** Items of one parenthesised list. */
    listLengthMax: 2000,
    /** Criteria of one SEARCH. */
    searchKeysMax: 1000,
    /** Keywords and flags in one command. */
    flagsMax: 100,
    keywordLengthMax: 128,
    /** Different keywords one mailbox may have. */
    keywordsMax: 500,
    /** Commands that made no sense, once logged in in a row, before the session is closed. */
    errorsMax: 50,
    /** Slices of a long answer with bodies that are under way at once: read on a thread while those before go out. */
    slicesAhead: 4,
    /** Messages that one unit of COPY, MOVE or EXPUNGE changes: some ten milliseconds; larger sets go in several. */
    unitMessages: 500,
    /** The same of STORE, where a message costs less and each unit waits for the disk. */
    storeMessages: 1000,
    /** Different sections of messages in one FETCH. Programs ask for a few; each costs a look at every message. */
    sectionsMax: 50,
    /** Flags of folders kept in memory by each thread with sessions, 13 bytes a message: those of a million messages. */
    flagIndexBytesMax: 13_000_000,
    /** Fewer flags than of so many messages are read from their rows. */
    indexedMin: 10,
    /** Lists of FETCH items whose meaning is remembered, and characters of one: a program uses some few. */
    askedMax: 200,
    askedLengthMax: 500,
    /** Rows read from the database before the socket is waited for. */
    sliceRows: 500,
    /** Characters of stored text read with them: some structures and envelopes have megabytes. */
    sliceLength: 1 * mib,
    /** The same where each row brings a body along. */
    sliceBodies: 100,
    /** Bytes of bodies gathered before the same. */
    sliceBytes: 1 * mib,
    /** Buffers of 80 KiB kept for what is handed to sockets: more than one slice. */
    buffersMax: 24,
    /** Bytes of one text part that a search looks through. */
    scanBytesMax: 16 * mib,
    /** Text criteria of one SEARCH (their answers are the bits of a whole number, without its sign), and messages handed to a thread at once. */
    searchTextsMax: 30,
    scanMessages: 2000,
    /** Messages of one MULTIAPPEND. */
    appendMessagesMax: 500,
    /** Characters of a LIST pattern, and wildcards in it. */
    patternLengthMax: 4096,
    wildcardsMax: 16,
    /** Groups of events of one NOTIFY, and folders in which something happened before they are told of together. */
    notifyGroupsMax: 50,
    notifyFoldersMax: 200,
    /** How long a stopping service waits for commands that run. */
    drainMs: 10 * second,
    /** Changes are gathered this long before an idling client is told, so that a storm is one answer. */
    tellMs: 20,
  },
  /** POP3. */
  pop3: {
    sessionsMax: 2000,
    sessionsPerNetworkMax: 200,
    /** Time from connecting to a successful login, and commands before it. */
    loginMs: 1 * minute,
    loginCommandsMax: 50,
    /** Silence before a session is closed without update (RFC 1939 3 asks for 10 minutes at least). */
    idleMs: 11 * minute,
    /** How long a stopping service waits for commands that run. */
    drainMs: 10 * second,
    /** A command line (RFC 2449 4 asks for 255; AUTH carries more). */
    lineBytesMax: 4 * kib,
    /** Commands that were refused, once logged in in a row, before the session is closed. */
    errorsMax: 20,
  },
  /** Threads that have sessions. */
  front: {
    /** Numbers of bodies a front thread fetches at once, and of how few left it fetches more. */
    numbers: 2000,
    numbersMin: 1000,
    /** Fronts that a service starts by itself: a command costs the actors about an eighth of what it costs a front, and each front holds 20 MB. */
    autoMax: 8,
    /** A front is asked whether it answers so often, and ended when it did not that many times in a row. */
    pulseMs: 2 * second,
    missedMax: 8,
    /** Changes told to a front that it has not confirmed; beyond them it is told what happened to a folder, not each change. */
    noticesMax: 8192,
    /** Of how many together it confirms that it heard. */
    noticesTold: 256,
    /** While none listens: connections of one listener that are being asked to come back, and how long one may take to hear it. */
    toldMax: 256,
    toldMs: 2 * second,
    /** How long one may take to start: also on a machine that is slow and busy the service has to come up. */
    startMs: minute,
    /** Between two tries to start one again. */
    againMs: 500,
    /** How long a reply waits until a front has heard that sessions ended. */
    heardMs: 2 * second,
    /** How long an orderly stop waits for one, sessions included. */
    closeMs: 15 * second,
    heapMib: withinMemory(2048, 2 * mib),
    /** As much as the main thread has (lib/process/heap.ts): longer halts are felt by all sessions of a front. */
    youngMib: 12,
    /** Of all connections, what fronts may have where HTTP stays on the main thread; else they have all. */
    connectionShare: 0.75,
    /** How long a front believes what an account has moved so far where that is below half of its limit, and of how many. */
    tallyMs: second,
    talliesMax: 10_000,
    /** How long home goes on telling a front of the ends of an account's sessions when the last one there has gone, and of how many accounts. */
    guardLeftMs: 30 * second,
    guardsLeftMax: 10_000,
    /** Connections spread unevenly: of what a network may have each of several fronts takes somewhat more than its part. */
    share: 1.5,
  },
  /** Lines between threads. */
  link: {
    /** Calls of one thread that wait for another's answer; more are a busy answer. */
    callsMax: 20_000,
  },
  /** PostgreSQL in place of a folder's file. */
  postgres: {
    /**
     * Connections of the main loop and of each thread beside it: those that short reads share (while one of them waits for the
     * disk others go on), those for one read at a time, in pieces or of one picture, and how many of these stay when nobody
     * has used them for `spareMs`. With the one that writes that is 13 and 5 for each thread; an engine takes 100 unless told otherwise.
     */
    home: { shared: 4, alone: 8, spare: 2 },
    thread: { shared: 2, alone: 3, spare: 1 },
    spareMs: 60 * second,
    /** Who may wait for a connection of his own, and for how long. */
    waitingMax: 2000,
    waitingMs: 20 * second,
    /** Rows fetched in one piece: some hundred KB of a listing. */
    pieceRows: 1000,
    /** Rows copied in one statement, of a few KB each, and bytes of them where they are larger. */
    copyRows: 500,
    copyBytes: 4 * mib,
    connectMs: 10 * second,
    /** A server that refused another connection is asked for one again. */
    refusedMs: 5 * second,
    /** How long a service waits for one before it to leave the database: its connection may be known as lost a little later. */
    holdMs: 3 * second,
    /** Times that a batch of which another node's undid one is tried again. */
    deadlocksMax: 5,
    /** Pause before a lost writing connection is made again. */
    againMs: 200,
    /** What a statement may take, and how much longer the server may be silent before its connection is given up. */
    statementMs: 60 * second,
    answerMs: 5 * second,
  },
  /** Several nodes on one database. */
  cluster: {
    /** How long a node that is heard of no more keeps its shards; with a beat more they are somebody else's. */
    leaseMs: 6 * second,
    /** How often a node renews its leases and looks after shards that nobody has. */
    beatMs: 1 * second,
    /** By how much its clock may differ from the database's before it goes by that one. */
    clockMs: 500,
    /** So long before the end of its leases a node believes in them no more: turns that are under way come to their end. */
    marginMs: 500,
    /** Numbers of each kind that a node takes at once, and when it takes more. */
    numbersTaken: 20_000,
    numbersLow: 5000,
    /** What a beat may wait for another node's batch. */
    lockMs: 2 * second,
    /** How long a node waits for the one before it that had its name. */
    nameMs: 10 * second,
    /** A node that nobody has heard of for so long is forgotten. */
    forgetMs: 7 * day,
    /** The line to other nodes: making a connection, a pause before it is tried again, and how often it is proven. */
    connectMs: 5 * second,
    againMs: 250,
    pingMs: 5 * second,
    /** A call of which nothing was heard for so long is asked after. */
    askMs: 1 * second,
    /** How often a node says how many words it has said: whoever missed the last ones of them hears it at the latest then. */
    toldMs: 3 * second,
    /** What a call may take that says nothing else: then nobody waits for it any more. */
    callMs: 60 * second,
    /** How long an answer is kept for who asked (longer than he waits), and the note that nobody does it any more (longer than a node sleeps). */
    answerMs: 3 * minute,
    withdrawnMs: 1 * hour,
    /** A larger answer is not kept: who asked is told to try again. */
    answerBytesMax: 1 * mib,
    /** How long a command waits for a node that has the account: as long as it takes until somebody has taken it over. */
    homelessMs: 15 * second,
    /** Pause before it looks again who that is. */
    homelessAgainMs: 50,
    /** What a node has time for to hear that something it keeps is not so any more; one that is silent loses its leases. */
    heardMs: 8 * second,
    /** After so much silence of another node this one believes nothing any more that it keeps in memory: less than others wait for it. */
    silentMs: 6 * second,
    /** Sums that are told to other nodes together: how many, and how long the first one waits. */
    countsMax: 1000,
    countsMs: 20,
    /** How long it is waited for that a limit is looked at where it is at home, before each node goes by its own. */
    countMs: 2 * second,
    /** What a node that begins takes over of what others have counted: entries at a time, and in all. */
    countsPageMax: 2000,
    countsTakenMax: 100_000,
    /** How often what seldom changes is read again in any case. */
    reloadMs: 1 * minute,
    /** The least time between two signs to the node that does the work of queues. */
    kickMs: 10,
    /** Bytes of frames of which pieces are missing. */
    piecesBytesMax: 256 * mib,
    /** What work of a shard may take to end before the shard is handed over all the same: whatever comes later is refused. */
    releaseMs: 5 * second,
    /** After so long what is being sent or called is cut off, so that it ends before another node begins. */
    cutOffMs: 3 * second,
  },
  /** Thread pools: waiting tasks and deadlines. A deadline counts while waiting, and anew while running. */
  pool: {
    passwordQueueMax: 2048,
    /** Waiting tasks of one account or address, so that a storm on one leaves room for the others. */
    passwordsPerKeyMax: 256,
    passwordMs: 20 * second,
    /** Security keys, signed profiles and pictures. */
    keyQueueMax: 256,
    keyMs: 10 * second,
    patternQueueMax: 1024,
    patternMs: 500,
    /** How many times as long a task whose deadline is processor time may take on a machine that is short of it. */
    starvedFactor: 10,
    /** Heap of a thread that runs strangers' patterns. */
    patternHeapMib: 64,
    readQueueMax: 256,
    readMs: 60 * second,
    /** Accounts whose long reads run at once on a thread, one of each, in slices; and reads of one account that wait. */
    readAccounts: 8,
    readsPerKeyMax: 16,
    /** Sorting or threading a folder, which may have hundreds of thousands of messages, beside those of others. */
    arrangeMs: 5 * minute,
    /** Heap of a thread for long reads: searches and orders of so many accounts at once. */
    readHeapMib: withinMemory(1024, 4 * mib),
    /** Encryption of mail on its way into a folder: it has a thread of its own, so that no search delays a delivery. */
    sealQueueMax: 256,
    sealsPerKeyMax: 64,
    sealMs: 60 * second,
    /** Time that a task has to end when it is told to, before its thread is killed. */
    endMs: 10 * second,
    /** A thread without work is let go after this. */
    idleMs: 2 * minute,
    /** Threads of one kind that services which keep nothing leave to the next ones. */
    sparesMax: 4,
    /** Time a thread may take to start. */
    startMs: 15 * second,
  },
  /** Finding out whether mail comes from whom it says (mail/origin/verification.ts). */
  spam: {
    /** Letters of the header and of the texts whose pieces are looked at; more costs time and tells nothing. */
    headerLettersMax: 2500,
    bodyLettersMax: 6000,
    /** Letters, words, tags and links of the texts that are looked at one by one. */
    textLettersMax: 20_000,
    wordsMax: 3000,
    tagsMax: 2000,
    linksMax: 200,
    /** Bytes of a message that are looked at: its beginning. */
    messageBytesMax: 256 * kib,
    /** Models read and messages learned at once on the thread, and what waits for it. */
    concurrency: 4,
    queueMax: 256,
    /** A thread that is busy with one task for this long is killed. */
    taskMs: 30 * second,
    /** A delivery waits no longer for what was learned. */
    totalMs: 1 * second,
    /** Models of 6 MiB that the thread keeps ready, and that each thread where mail arrives keeps of them. */
    modelsMax: withinMemory(12, 12 * 6 * mib),
    modelsHereMax: withinMemory(6, 24 * 6 * mib),
    /** Marks of one account that wait to be learned; what is marked beyond is not learned. */
    waitingMax: 10_000,
    /** Marks learned at once, and the pause after them. */
    batchMax: 100,
    pauseMs: 500,
    /** Other programs that look at a message: time and bytes of an answer, and what rspamd is shown of a message. */
    scanMs: 10 * second,
    answerBytesMax: 1 * mib,
    scannedBytesMax: 4 * mib,
    scannedRecipientsMax: 100,
    /** How often is looked for marks where none waited. */
    lookMs: 2 * second,
    /** Learned messages of each kind that a batch is trained with, and that are kept for it: some 4 KiB each. */
    rehearsedMax: 300,
    keptMax: 300,
    /** Messages after which all that was counted is halved: what was said once is forgotten, what is said again stays. */
    halvedAfter: 8000,
    /** Messages of an account that are known to be learned; older ones would be learned again. */
    marksMax: 20_000,
    /** Messages an account adds to what all share. */
    sharedMax: 500,
    /** Learned messages from which on a score is given. */
    usefulMin: 20,
    /** Of each kind: before, nothing is moved by what was learned alone. */
    matureMin: 250,
    /** Of each kind: from then on an account's own says more than what all share. */
    ownHalf: 50,
  },
  verify: {
    /** Messages looked at at once on the thread, and messages that wait for it. */
    concurrency: 32,
    queueMax: 256,
    /** A thread that is busy with one message for this long is killed. */
    taskMs: 10 * second,
    /** A message is taken after this, whatever is not known by then. */
    totalMs: 12 * second,
    /** DNS questions of one message about who sent it, then those about what its authors want, and how long one may take before it is asked again. */
    dnsMs: 5 * second,
    policyMs: 3 * second,
    questionMs: 2 * second,
    /** What lists and names say of a host is waited for so long, and how many links (of those read), names and answers are looked at. */
    standingMs: 4 * second,
    linksMax: 20,
    linksReadMax: 1000,
    reverseNamesMax: 5,
    answersReadMax: 100,
    /** How long the test entries of a list are believed, and one that failed is left alone. */
    listCheckMs: hour,
    listOffMs: 15 * minute,
    /** Questions of one message about its host, its keys (signatures, and once more seals), its author's policy, its name. */
    spfLookupsMax: 40,
    keyLookupsMax: 25,
    policyLookupsMax: 60,
    /** Domains in From whose policies are looked at; a message in the name of more is put aside. */
    authorsMax: 5,
    /** Characters of one result in Authentication-Results. */
    resultLengthMax: 900,
    /** Characters of a TXT record that is read: a key of 4096 bits has 800, a policy some hundred. */
    recordLengthMax: 4096,
    /** Messages of this size and more are looked at one after the other, for the memory they take. */
    largeBytes: 8 * mib,
    /** Signatures of one message that are looked at (RFC 6376 6.1). */
    signaturesMax: 10,
    /** Bytes, blanks on end and colons (about names that are signed) of a field that signs, seals or picks a mark: others are passed over. */
    fieldBytesMax: 16 * kib,
    blanksMax: 250,
    signedNamesMax: 500,
    /** Seals of a chain that is sealed once more (RFC 8617 4.2.1). */
    sealsMax: 50,
    /** Remembered answers of DNS: how many, their bytes together, and those of one. */
    answersMax: 20_000,
    answersBytesMax: 16 * mib,
    answerBytesMax: 64 * kib,
    /** How long an answer is believed, that there is none, and that nobody could say. */
    answerMs: 5 * minute,
    absentMs: minute,
    failureMs: 5 * second,
    /** Who answers on this machine is looked up again after this. */
    resolverMs: 5 * minute,
    /** What was worked out of answers (a sender's host, an author's policy): how long it is believed, how many, and how it is asked. */
    resultMs: minute,
    resultsMax: 5000,
    resultKeyLengthMax: 1000,
    /** Keys of signers above these are not used, since each signature would cost milliseconds (RFC 8301 3.2 asks for 4096). */
    rsaBitsMax: 8192,
    rsaExponentMax: 2 ** 32,
    /** A message whose header has no more bytes, lines, and signatures and seals together, is looked at where it arrives. */
    plainHeaderBytesMax: 32 * kib,
    plainFieldsMax: 600,
    plainSignaturesMax: 6,
  },
  /** The marks that domains show beside their mail (mail/bimi, actors/screening/marks.ts). */
  bimi: {
    /** Characters of both URLs together, bytes of a picture and of a chain of certificates, in which the picture is once more. */
    urlsLengthMax: 2000,
    indicatorBytesMax: 32 * kib,
    bundleBytesMax: 128 * kib,
    chainMax: 6,
    /** Parts of a certificate that are looked through for the picture. */
    nodesMax: 1000,
    /** Questions to DNS for one message. */
    lookupsMax: 4,
    /** Time for one file; a message waits no longer than the second for both. */
    fetchMs: 10 * second,
    waitMs: 4 * second,
    /** Marks fetched at once; others are left out this time. */
    fetchesMax: 16,
    /** Marks that are kept in the store, some 44 KB each at most, and for how long one counts without being fetched again. */
    rowsMax: 1000,
    keptMs: day,
    /** What is remembered besides, mark or none, and for how long that there is none. */
    knownMax: 2000,
    failureMs: hour,
  },
  /** Filter patterns. */
  pattern: {
    /** Characters of one pattern. */
    lengthMax: 1024,
    /** Patterns in one task, and texts they are tried on. */
    patternsMax: 1000,
    textsMax: 1000,
    /** Compiled patterns a thread keeps. */
    compiledMax: 1000,
  },
  /** Passwords that were verified lately. */
  recall: {
    /** How long a password is recognised without hashing. */
    ttlMs: 5 * minute,
    /** Some 150 bytes each. */
    entriesMax: 50_000,
  },
  /** Guessing (specification, Limits; api-semantics 2.6). A window begins with its first failure. */
  attempts: {
    passwordFailuresMax: 12,
    passwordMs: 2 * minute,
    /** One-time codes and security keys. */
    factorFailuresMax: 6,
    factorMs: 3 * minute,
    /**
     * Wrong one-time codes of logins from networks that are not known of an account, and from each that is: three of a million are
     * right at a time, so six in three minutes for ever would find one with even chance in eighty days, these in centuries.
     */
    codeFailuresMax: 100,
    codeMs: 30 * day,
    /** Failures from one network at whatever accounts; an office behind one address forgets passwords, too. */
    networkFailuresMax: 300,
    networkMs: 5 * minute,
    /** How many times as much the networks around one have: of IPv4 the address and its /24, of IPv6 /64, /48 and /32. */
    networkSteps: [1, 4, 20],
    /** Attempts from one network that wait while as many as may fail are being checked: a web mail that comes up again. */
    networkWaitingMax: 4096,
    /** Questions about names nobody has before a login, from one network, and through one token that tells no address. */
    namesMax: 30,
    namesUnplacedMax: 600,
    namesMs: 2 * minute,
    /** A network from which an account was entered keeps its own count of failures for this long. */
    knownMs: 30 * day,
    knownRefreshMs: 1 * day,
    /** Networks that are known of one account; who had the password once and many networks may not guess from each. */
    knownMax: 32,
    /** Attempts at one account that wait while as many as may fail are being checked; more are refused. */
    waitingMax: 256,
    /** A refused attempt is answered after this, so that guessing without pause costs the guesser and not the service. */
    refusalMs: 500,
    /** Refused attempts that are held back at once, in all and for one account; more are answered at once. */
    heldMax: 1024,
    heldPerAccountMax: 256,
  },
  /** Live sessions and streams of all protocols. */
  session: {
    /** How often those that end by their time, or by another process, are looked for. */
    sweepMs: 1 * second,
    /** How often one that does nothing is looked up while it may have ended at another node of which nothing is heard. */
    doubtedMs: 10 * second,
  },
  /** What opens an account beside its password. */
  credential: {
    /** Application passwords of one account with the same selector: so many are hashed at a login. */
    aspsPerSelectorMax: 4,
    /** Milliseconds an application password may live unused, when its life is bounded at all. */
    aspTtlMax: 3650 * day,
    /** Security keys of one account. */
    keysMax: 50,
    /** A login that waits for its second factor. */
    nonceMs: 10 * minute,
    /** Such logins of one account; with another one the oldest ends. */
    noncesMax: 50,
    /** A seed that was shown and not yet confirmed. */
    seedPendingMs: 6 * hour,
    /** A temporary password, from the moment it can be used. */
    temporaryMs: day,
    /** How far ahead it may begin. */
    temporaryAheadMax: 365 * day,
    /** A login with a password that was looked up among breached ones this recently does not ask again. */
    pwnedMs: 14 * day,
    /** After nobody answered, nobody is asked for this long. */
    pwnedRetryMs: 5 * minute,
  },
  /** The log of logins. */
  authLog: {
    /** Events of the same key within this are one entry. */
    mergeMs: 6 * hour,
    /** Entries of one account in that time that refused attempts make, each address one; further ones are told without theirs, together. */
    strangeEntriesMax: 100,
    /** Entries remembered for merging, and entries that wait to be written; more are written at once. */
    rememberedMax: 20_000,
    pendingMax: 5000,
    /** Entries wait this long for more of their kind. */
    gatherMs: 200,
    /** When an account was last entered is written at most this often. */
    loginMs: minute,
    sweepMs: 10 * minute,
    sweepRowsMax: 1000,
  },
  /** Rows read a moment ago (store/mailboxes/recent.ts). */
  recent: {
    /** How long a change made by another process may go unnoticed. */
    maxAgeMs: 250,
    entriesMax: 10_000,
  },
  /** Sealed secrets. */
  seal: {
    /** Stretched keys kept. Nearly everything is under the few salts of the last starts. */
    keysMax: 1000,
    /** Rows of an earlier version that are sealed in one unit. */
    pageRows: 200,
  },
  /** What may be lost: counters, challenges, throttles. */
  cache: {
    /** Room the folder must have when it is opened: what the engine maps into memory at once. */
    roomBytesMin: 128 * kib,
    /** Entries; when there are more, those of strangers at the door go first, then those that would end first. Some 200 bytes each. */
    entriesMax: 1_000_000,
    /** Entries kept in memory as they were read; some 150 bytes each. */
    knownMax: 10_000,
    /** Writes that are not on their way to the disk yet; more is a busy answer. */
    pendingMax: 50_000,
    /** How long changes gather before they are written. */
    paceMs: 250,
    /** How often ended entries are swept out, and how many in one go (a few milliseconds). */
    sweepMs: 1 * second,
    sweepEntriesMax: 2000,
    /** Entries that are looked at when the cache is opened (some 100 ms). */
    walkEntriesMax: 100_000,
    /** How long closing waits for the last write. */
    closeMs: 5 * second,
  },
  /** Security keys (api-semantics 3.3). */
  webauthn: {
    challengeMs: 1 * hour,
    /** Challenges of one account that wait for an answer; with another one the oldest ends. */
    challengesMax: 50,
    /** Hexadecimal digits of one that is answered; ours have 128. */
    challengeLengthMax: 2048,
    /** How long somebody may take to show a passkey that is the whole login. */
    passkeyMs: 5 * minute,
    /** Hexadecimal digits of what a passkey says of its owner (WebAuthn 5.4.3: 64 bytes). */
    userHandleLengthMax: 128,
    /** Hexadecimal digits of a credential id. */
    rawIdLengthMax: 2048,
    /** Hexadecimal digits of what a browser sends: more than any authenticator makes. */
    answerLengthMax: 1 * mib,
  },
  /** The range protocol for breached passwords. */
  pwned: {
    /** A padded answer has some 1000 lines of 40 bytes. */
    answerBytesMax: 256 * kib,
    /** Lookups at once; more count as unanswered. */
    inFlightMax: 64,
  },
  /** Names (api-semantics 1.4, wire-details 5). */
  name: {
    usernameLengthMax: 128,
    /** RFC 5321 4.5.3.1.1. */
    localPartBytesMax: 64,
    domainLengthMax: 253,
    /** The text beside the star of a wildcard address (api-semantics 10.2). */
    wildcardPartLengthMax: 32,
    /** Keywords on one message, and characters of one. */
    keywordsMax: 100,
    keywordLengthMax: 100,
    /** Ranges and characters of one message set such as `1,2,5:9`. */
    rangesMax: 20_000,
    setLengthMax: 256 * kib,
    mailboxDepthMax: 128,
    mailboxPartLengthMax: 512,
    sessionLengthMax: 255,
    /** Characters of a signature, in each of its forms: a small picture in the HTML. */
    signatureLengthMax: 128 * kib,
    metaDataBytesMax: 1 * mib,
  },
  password: {
    /** Characters of a password that is presented or set. */
    lengthMax: 256,
    /** Characters of a stored hash (the longest form, an argon2 with long salt, has some 250). */
    storedLengthMax: 512,
    /** Bytes of a stored hash; fewer could be met by chance. */
    hashBytesMin: 16,
    /** What one verification of an imported hash may cost: each of these is two to four seconds of one core. */
    pbkdf2RoundsMax: 5_000_000,
    shaCryptRoundsMax: 2_000_000,
    bcryptCostMax: 15,
    argon2KibMax: 256 * kib,
    argon2KibPassesMax: 2048 * kib,
    argon2LanesMax: 64,
  },
  /** Connections to hosts that users and operators name (net/outward.ts). */
  outward: {
    /** Name and connection together. */
    connectMs: 10 * second,
    /** One address of several; a host at the other end of the world takes a third of a second. */
    addressMs: 3 * second,
    /** One DNS question, asked twice. */
    resolveMs: 3 * second,
    /** Addresses of one name that are looked at. */
    addressesMax: 32,
    /** Names that wait for the operating system's own lookup. */
    lookupsWaitingMax: 100,
  },
  /** The loops over rows that are due (jobs/loop.ts). */
  loop: {
    /** A loop looks at the clock at least this often, so that a changed wall clock is noticed. */
    pollMs: 5 * second,
    /** A clock that was ahead by less was not: nodes and corrections differ by as much. */
    clockMs: 1 * minute,
    /** Wait after storage refused a claim. */
    retryMs: 1 * second,
    /** How long a stopping service waits for what is in flight before it cuts it off. */
    drainMs: 10 * second,
  },
  /** Update streams (http/api/messages/updates.ts). */
  updates: {
    /** Streams of one account at once. */
    streamsMax: 500,
    /** Changes that wait for a slow client; more are read from the database when it takes them. */
    bufferLengthMax: 200,
    /** Changes read in one go, all folders together, and for each folder at least. */
    replayRows: 200,
    replayRowsMin: 10,
    /** Changes a client that was away is told one by one; after more it is told to look for itself. */
    replayMax: 20_000,
    /** What a client is asked to wait before it comes back. */
    retryMs: 5 * second,
  },
  /** Files stored for composing. */
  storage: {
    /** Bytes of one file as sent (api-semantics 5.1). */
    fileBytesMax: 64 * mib,
    filesMax: 10_000,
    filenameLengthMax: 255,
  },
  /** Address registers. */
  addressBook: {
    /** Entries of one account; the least lately used go. */
    entriesMax: 5000,
    /** Uses that wait to be written; more are forgotten, since an address comes again. */
    pendingMax: 10_000,
    /** How long they wait, so that a storm is one unit. */
    flushMs: 2 * second,
    /** Addresses of one message, and authors of messages that are moved together. */
    addressesMax: 100,
    nameLengthMax: 256,
  },
  /** Contacts (store/accounts/contact.ts), and vCards. */
  contact: {
    /** Contacts of one account. */
    contactsMax: 10_000,
    /** A vCard file, its cards, properties of one, and characters of one line: a picture. */
    fileBytesMax: 32 * mib,
    cardsMax: 10_000,
    propertiesMax: 500,
    lineLengthMax: 256 * kib,
    /** Characters of a field, and of a note. */
    textLengthMax: 1024,
    noteLengthMax: 16 * kib,
    /** Addresses, numbers and the like of one contact; groups it is in, and characters of the name of one. */
    valuesMax: 50,
    groupsMax: 50,
    groupLengthMax: 100,
    /** Lines that are kept as they stand, and characters of all of them. */
    othersMax: 100,
    othersLengthMax: 128 * kib,
    /** Contacts taken in with one command. */
    batchContacts: 100,
  },
  /** Domain aliases and access lists. */
  domain: {
    /** Entries of one tag. */
    entriesMax: 10_000,
    /** Accounts renamed at once when a domain gets another name. */
    renamesInFlightMax: 64,
    /** How long is remembered what DNS said of one, and of how many: pages ask again and again. */
    statusMs: minute,
    statusRememberedMax: 200,
    /** Domains of which DNS is asked at once, some fifteen questions each. */
    statusInFlightMax: 4,
    /** Those that wait for that; more are told to come again. */
    statusWaitingMax: 100,
    /** Of what a name holds so many values are told, of so many characters. */
    statusValuesMax: 20,
    statusValueLengthMax: 1000,
    /** Accounts that look after one, and UTF-16 units of what is said of it for people. */
    adminsMax: 100,
    textLengthMax: 1024,
  },
  /** Messages whose time is over. */
  expiry: {
    /** The first round comes so long after the start, the next ones so long after each other. */
    roundMs: 15 * minute,
    /** Messages taken away in one command, and folders worked on at once. */
    batchMessages: 500,
    inFlightMax: 2,
  },
  /** Counting what an account uses. */
  quota: {
    /** Messages counted before the loop is let go. */
    sliceRows: 20_000,
    /** Accounts counted at once. */
    inFlightMax: 4,
  },
  /** Mailboxes. */
  mailbox: {
    /** Characters of the paths of an account, for each mailbox that it may have: both limits of a path together are 65,663. */
    pathLengthMean: 512,
    /** Characters of a path that is kept when its folder, or a message in it, is gone; of a longer one the folder's number is. */
    keptPathLengthMax: 1024,
    /** Mailboxes of an account that are remembered when they are gone: for streams of changes and the uid validity of new ones. */
    removedMax: 1000,
    /** Messages that are gone from a mailbox are remembered for so long, the last ones for ever: for clients that were away. */
    expungedMs: 30 * day,
    expungedKept: 1000,
    /** Of those that need not be remembered so many are forgotten in one command; when the first round is, and how far apart rounds are. */
    forgetRows: 1000,
    forgetAfterMs: 15 * minute,
    forgetRoundMs: 12 * hour,
    /** Mailboxes looked at in one go. */
    forgetMailboxes: 100,
    /** A mailbox with more messages is emptied in pieces of so many before it is deleted, and moved whole in such. */
    pieceMessages: 5000,
    /** Names an account stays subscribed to without such a mailbox, and characters of them all; the oldest are let go. */
    subscriptionsMax: 200,
    subscriptionsLengthMax: 32 * kib,
  },
  /** Messages for new users. */
  welcome: {
    templatesMax: 10,
    templateBytesMax: 256 * kib,
  },
  /** Deleted accounts. */
  removal: {
    /** Rows in one unit: some milliseconds of the writer. */
    batchRows: 500,
  },
  /** Messages written over the API (api-semantics 5.3). */
  compose: {
    /** Addresses of one field; how many may get a message is a setting. */
    addressesMax: 10_000,
    /** Addresses in From of what is sent; each is looked up. */
    authorsMax: 50,
    headersMax: 500,
    textLengthMax: 1 * mib,
    /** With the data of pictures in it. */
    htmlLengthMax: 12 * mib,
    attachmentsMax: 500,
    /** Of one attachment as text: 25 MiB in base64 and some white space. */
    attachmentLengthMax: 36 * mib,
  },
  /** Search (store/search/search.ts). */
  search: {
    /** Characters of a query, and of one criterion that the index is asked about. */
    queryLengthMax: 1024,
    /** Trigrams by which a long text is looked up. */
    gramsMax: 24,
    /** Bodies that would have to be looked into before the index of words is asked which need not be. */
    sureMin: 300,
    /** Words of From, To, Cc, Bcc and Subject that are held against the index; of more than that the header is looked into by whoever asks. */
    fieldWordsMax: 500,
    /** Criteria of one search that the index is asked about before a folder is gone through, and words of one of them. */
    indexedLeavesMax: 16,
    needleWordsMax: 4,
    /** Bodies that are looked up one by one; more are met by going through the folders. */
    byBodyMax: 20_000,
    /** Rows read in one go. */
    sliceRows: 2000,
    /** The same for the first hits of who is still typing, for whom a moment must do, and how long that is. */
    newestRows: 100,
    quickMs: 40,
    /** Bodies that the index names for them; of a needle that more have the newest messages are looked into. */
    quickBodiesMax: 5000,
    /** Characters of one key that messages are sorted by, and of all of them; of more than that less of each is kept. */
    sortKeyLengthMax: 1000,
    sortKeysLengthMax: 64 * mib,
    /** References that threads are made of; of more than that only the last ones of each message count. */
    threadReferencesMax: 2_000_000,
    /** Time after which a look into many texts answers with what it has, so that the account's other reads come along. */
    scanMs: 500,
    /** Folders sorted or threaded at once on a thread: each may take 100 MiB. */
    arrangedMax: 2,
    /** Messages a search looks into for their texts to be kept: going through a folder would keep none until they are asked for again. */
    keptMax: 500,
    /** Characters of those texts, kept by a thread. */
    textsLengthMax: 4 * mib,
    /** Bodies in what the index said about an account, kept by a thread until then: 100 bytes each or less. */
    indexWeightMax: 100_000,
    /** Hits of earlier searches kept by a thread, 16 bytes each; every search counts as a thousand more. */
    cachedMax: 1_000_000,
    /** Messages of folders listed as conversations that a thread remembers, 24 bytes each and 4 for each order. */
    conversationRowsMax: 1_000_000,
    /** Messages of a conversation that a row of a list names. */
    conversationUidsMax: 500,
    /** Bodies looked up for indexing in one go. */
    indexDocs: 32,
    /** Characters of text indexed in one unit: some milliseconds of the writer. */
    indexUnitLength: 64 * kib,
    /** Pause between two units, so that deliveries come first. */
    indexPauseMs: 5,
  },
  /** Tasks that outlive the call that asked for them (jobs/tasks/tasks.ts). */
  task: {
    /** Accounts whose tasks run at once. */
    inFlightMax: 4,
    /** Characters by which a task tells where the messages of a folder went: as many as a search takes. */
    movedLengthMax: 1024,
    /** Due tasks that are looked at for one that may run, of each account the first. */
    aheadMax: 500,
    /** Tasks of one account that its calls let wait. */
    waitingMax: 100,
    /** A task that was not heard of for this long is taken again. */
    leaseMs: 1 * minute,
    /** Wait after a failure that may pass, times the number of tries. */
    retryMs: 5 * second,
    attemptsMax: 10,
    /** How long a result can be looked up, and of how many of an account, the newest. */
    keepMs: 30 * day,
    keptMax: 1000,
    sweepMs: 1 * hour,
    sweepRowsMax: 1000,
    /** Messages that a task changes in one command. */
    batchMessages: 500,
  },
  process: {
    /** Bytes of the path of a socket: the field that takes it has 104 on some systems, 108 on Linux, one for its end. */
    socketPathBytesMax: 103,
    /** Age under which a temporary data directory without an owner is taken for one that is being opened. */
    temporaryGraceMs: 2 * second,
  },
  /** The service of a developer's machine (`teal dev`). */
  dev: {
    /** Bytes of a request: a whole message in base64 within JSON. */
    bodyBytesMax: 96 * mib,
    /** What a page may leave unread of the news it asked for. */
    unreadBytesMax: 1 * mib,
    /** Mails that are shown, where nothing else is said; older ones are forgotten. */
    mailsMax: 500,
    /** Longest that one call waits: as long as programs that call keep a silent connection. */
    waitMsMax: 10 * minute,
    /** Addresses whose mailbox remembers what it has given out. */
    mailboxesMax: 10_000,
    /** Letters of a mail in a list. */
    snippetLength: 250,
    /** Lines of one answer: more than fit into a window. */
    linesMax: 500,
    /** Letters of a mail's text that a search looks at. */
    searchedLength: 100_000,
    /** Tags of a mail, and letters of one. */
    tagsPerMail: 20,
    tagLength: 100,
    /** Bytes of an attachment that is shown as text. */
    previewBytesMax: 512 * kib,
    /** Bytes that fields of delivery take on top of a mail at most, each of them. */
    traceBytes: 16 * kib,
    /** How long a server that mail is released to may say nothing. */
    releaseMs: 15 * second,
    /** Mails that a webhook is still to hear of. */
    webhooksWaiting: 10_000,
    /** Bytes of pictures that are put into the HTML of a mail. */
    pictureBytesMax: 16 * mib,
    /** Links of a mail that are tried, and how long each of them may take. */
    linksCheckedMax: 50,
    linkMs: 5 * second,
    /** A mail above it is said to be large. */
    largeMailBytes: 1 * mib,
    /** Letters of a mail's HTML that are looked through for what mail programs do not show. */
    checkedLength: 2_000_000,
  },
  /** Moving mail and accounts in and out. */
  transfer: {
    /** Names of messages asked about in one call. */
    keysMax: 1000,
    keyLengthMax: 512,
    /** Identifiers of one call. */
    identifiersMax: 10_000,
    /** Messages, and bytes of them, sent in one call; a larger message goes alone. */
    batchMessages: 100,
    batchBytes: 512 * kib,
    /** Calls under way for one account: one is read while another is stored. */
    callsMax: 2,
    /** Bytes of messages that one account's calls under way hold; a message larger than this goes when no other does. */
    heldBytesMax: 8 * mib,
    /** Messages being stored at once for one call. */
    storingMax: 32,
    /** Calls of one command under way at once. */
    connectionsMax: 64,
    /** Time one call may take. */
    callMs: 10 * minute,
    /** How long a command waits for a service that has the data and does not answer yet, and how often it asks meanwhile. */
    holderMs: 30 * second,
    holderAskedMs: 250,
    /** The line before each message. */
    headBytesMax: 64 * kib,
    /** First and last wait before a call that met a busy service is made again. */
    retryMsMin: 100,
    retryMsMax: 60 * second,
    /** A message up to this size is read at once; a larger one streams. */
    wholeBytesMax: 1 * mib,
    /** Files of a Maildir looked at together, and fetched side by side from a slow disk. */
    readingMax: 8,
    /** Time that reading a file takes where the disk is slow, and bytes of it that are fetched ahead. */
    slowFileMs: 1,
    fetchBytes: 128 * kib,
    /** A whole export, and one record of it. */
    exportBytesMax: 16 * 1024 * mib,
    recordBytesMax: 32 * mib,
    /** Time an import of accounts may take once it has arrived. */
    importMs: 1 * hour,
    /** Accounts or tags of one export. */
    chosenMax: 100_000,
    /** A line of an mbox file that is held; a longer one is taken in pieces. */
    lineBytesMax: 64 * kib,
    /** Messages of an mbox file whose Content-Length is wrong, after which none is believed. */
    wrongLengthsMax: 10,
    /** Time for a file of mail to arrive and be taken in, and bytes of it. */
    fileMs: 6 * hour,
    fileBytesMax: 32 * 1024 * mib,
    /** Files of one account that are taken in at once. */
    filesMax: 2,
    /** Folders of an account elsewhere that are fetched, and how long its server may be silent. */
    foldersMax: 10_000,
    sourceIdleMs: 2 * minute,
    /** Messages, one after the other, over each of which its connection ends twice: then it is not they. */
    endingsMax: 5,
    /** A line of its: the numbers of two million messages. */
    sourceLineBytesMax: 16 * mib,
    /** How long one of its answers may take, a large message over a slow line, and its goodbye. */
    sourceAnswerMs: 30 * minute,
    sourceCloseMs: 10 * second,
    /** Heap of the thread that reads it: numbers of as many messages as a line may have. */
    sourceHeapMib: withinMemory(256, 4 * mib),
    /** Accounts elsewhere that are fetched at once, of the whole service. */
    sourcesMax: 2,
    /** After which one of them goes behind those that wait. */
    sourceTurnMs: 10 * minute,
    /** Messages after which it is noted how far a task is. */
    noteMessages: 25,
    /** Lists beside the messages of a Maildir. */
    listBytesMax: 1 * mib,
  },
  /** Audits. */
  audit: {
    /** Messages copied, and ended, in one unit. */
    batchMessages: 200,
    /** Messages looked up at once for an export. */
    pageMessages: 100,
    /** How often audits that are over are looked for. */
    roundMs: 5 * minute,
  },
  /** Events and webhooks (jobs/webhooks/webhooks.ts). */
  webhook: {
    /** Subscriptions of one service; all are held in memory. */
    subscriptionsMax: 1000,
    /** Patterns of one subscription. */
    typesMax: 100,
    typeLengthMax: 128,
    urlLengthMax: 2048,
    secretLengthMin: 16,
    secretLengthMax: 256,
    /** Events matched in one unit. */
    fanoutEventsMax: 500,
    /** Deliveries written in one unit; more subscribers for one event make it larger, fewer events fit. */
    fanoutDeliveriesMax: 2000,
    /** Runs in flight at one endpoint that answers well; it starts with one and doubles. */
    windowMax: 32,
    /** Deliveries of one subject claimed together and sent one after the other. */
    runLengthMax: 64,
    /** Calls in flight in all; each endpoint may have one beyond it, so that no other can starve it. */
    inFlightMax: 512,
    /** Connections to one origin, whatever number of endpoints it has. */
    connectionsMax: 64,
    /** Deliveries of one endpoint held in memory, tried and untried. */
    aheadMax: 1024,
    /** Deliveries of one endpoint that may wait for another try while new ones still start. */
    triedMax: 512,
    /** Bytes of an answer that are read; the rest is cut off and changes nothing. */
    answerBytesMax: 64 * kib,
    redirectsMax: 3,
    /** Wait after a first failure, doubled after each further one up to the cap, a fifth of it random. */
    retryMs: 2 * second,
    retryMsMax: 12 * hour,
    /** Attempts before a delivery is dead: with these waits the last one comes 30 hours after the first. */
    attemptsMax: 17,
    /** Longest wait an endpoint can ask for with Retry-After. */
    retryAfterMsMax: hour,
    /** Wait before an endpoint that failed twice in a row is tried with anything, doubled up to the cap. */
    restMs: 1 * second,
    restMsMax: 5 * minute,
    /** A delivery that failed for this long lets later ones of its subject pass. */
    blockMs: hour,
    /** So many failures in a row, the first of them so long ago, pause an endpoint. */
    pauseFailures: 10,
    pauseMs: hour,
    /** Age of the event at which a delivery is given up for good, waiting or dead. */
    keepMs: 30 * day,
    /** How often old deliveries are looked for, and how many go in one unit. */
    sweepMs: 10 * minute,
    sweepRowsMax: 1000,
    /** How often the log hears of deliveries that are late. */
    reportMs: minute,
    /** Figures for the metrics are this fresh. */
    figuresMs: 5 * second,
  },
  /** Certificates of host names; all are held in memory, ready for a handshake. */
  certificate: {
    /** How often certificates in files are looked at for a change. */
    filesMs: 30 * second,
    certificatesMax: 5000,
    /** Characters of a certificate with its chain, and of a private key, in PEM. */
    textLengthMax: 128 * kib,
    keyLengthMax: 32 * kib,
    /** Certificates in one chain, and names of one certificate. */
    chainMax: 20,
    namesMax: 1000,
    descriptionLengthMax: 255,
  },
  /** Fetching certificates by ACME (jobs/acme/acme.ts). */
  acme: {
    /** Wait after the first, second, ... failure in a row, up to a fifth of it more at random; the last one repeats. Of the
     *  five failures a name may have in an hour with the largest public server this uses three. */
    retriesMs: [10 * minute, 30 * minute, 2 * hour, 6 * hour, 12 * hour, 24 * hour],
    /** Longest wait that a server can ask for with Retry-After. */
    retryAfterMsMax: 7 * day,
    /** Wait for a server that says it is asked too often and not how long. */
    rateLimitedMs: 1 * hour,
    /** Wait before a server that cannot be reached is asked for any name. */
    restMs: 1 * minute,
    /** A certificate is not fetched again sooner than this, however short it is valid. */
    renewMsMin: 1 * hour,
    /** Names that are fetched at once. */
    inFlightMax: 2,
    /** Names in the settings. */
    namesMax: 100,
    /** One call, its whole answer included, and bytes of the answer: a chain has some 10 KiB. */
    requestMs: 30 * second,
    answerBytesMax: 256 * kib,
    /** One attempt with all its calls and waits. */
    attemptMs: 5 * minute,
    /** First and longest wait before a server is asked again how far it is. */
    pollMs: 1 * second,
    pollMsMax: 15 * second,
    /** How long a stopping service waits for an attempt; what is cut off goes on after the next start. */
    drainMs: 1 * second,
    /** Challenges that can be answered at once, and characters of a token (RFC 8555 8.3). */
    challengesMax: 1000,
    tokenLengthMin: 16,
    tokenLengthMax: 128,
    /** Characters of an address that a server gives for an order or an account. */
    urlLengthMax: 2048,
    /** Characters of a server's reason that go into the log. */
    reasonLengthMax: 500,
    /** The listener for challenges: connections at once, bytes of a request's head, and time for it to arrive. */
    connectionsMax: 256,
    headBytesMax: 8 * kib,
    headMs: 10 * second,
  },
  /** Keys that sign outgoing mail. */
  dkim: {
    keysMax: 100_000,
    rsaBits: 2048,
    rsaBitsMin: 1024,
    /** A signature takes some 5 ms of the main loop at this size. */
    rsaBitsMax: 4096,
    /** Opened keys that are kept. */
    cachedMax: 1000,
    /** How often domains are looked for that have no keys yet, and how many of all are looked at each time. */
    lookMs: 5 * second,
    domainsMax: 500,
    /** Keys that are made, or looked for in DNS, at once. */
    inFlightMax: 4,
    /** A new key is looked for after this, then after twice as long each time, up to the latter. */
    firstCheckMs: minute,
    checkMs: hour,
    /** One that signs is looked for so often: mail must not be signed with what DNS shows no more. */
    recheckMs: 6 * hour,
    /** A key that was followed by another one stands in DNS for so long, since mail may be verified days after it was signed. */
    retiredMs: 14 * day,
  },
  /** Filters, autoreplies and what is kept about their decisions. */
  filter: {
    /** Characters of one condition, unless it is an expression (`pattern.lengthMax`). */
    conditionLengthMax: 255,
    nameLengthMax: 255,
    /** Forwarding targets of one filter. */
    targetsMax: 50,
    /** Filters that one call puts in order. */
    orderMax: 10_000,
    /** Characters of one header field, all its values together, that filters see. */
    headerCharactersMax: 64 * kib,
    /** Steps of expressions that are tried on the main loop for one message (about 1 ns each); costlier ones go to a thread. */
    inlineStepsMax: 300_000,
    /** Processor time that all expressions of one message have on a thread before the one that runs counts as not matching. */
    patternMs: 100,
    /** Time for all of them with those that are tried again without it; on a machine that is short of time `pool.starvedFactor` times that. */
    patternsMs: 300,
    /** Times an expression may take too long before its filter is disabled. */
    offencesMax: 3,
    /** Expressions of one account that may be killed one after the other before it rests, so long the first time. */
    killsFree: 3,
    restMs: 2 * second,
    restMsMax: 1 * minute,
    /** Accounts whose compiled filters are kept. */
    cachedMax: 5000,
    /** Messages of a folder looked at by one call that tries filters on it, and for how long; the next call goes on. */
    previewMessages: 500,
    previewMs: 2 * second,
    /** How long decisions can be looked up, and how many go in one sweep. */
    traceMs: 3 * day,
    sweepMs: 10 * minute,
    sweepRowsMax: 2000,
  },
  autoreply: {
    nameLengthMax: 128,
    subjectLengthMax: 2048,
    textLengthMax: 128 * kib,
    /** Autoreplies of one account in a day. */
    dayMax: 2000,
    /** Addresses in To and Cc that are looked up for whether they are the account's. */
    namedMax: 50,
  },
  /** Mail on its way out (jobs/relay/relay.ts). */
  /** Policies of other domains for mail that is sent to them (RFC 8461). */
  sts: {
    fetchMs: 20 * second,
    /** RFC 8461 3.2 has policies of some hundred bytes; 3.3 advises 64 KB at most. */
    policyBytesMax: 64 * kib,
    mxMax: 100,
    /** RFC 8461 3.2: a year at most. */
    ageMaxMs: 365 * day,
    /** DNS is asked so often for a newer policy, and after a failure; one that holds is fetched again so often. */
    checkMs: hour,
    failureMs: 5 * minute,
    refreshMs: day,
    /** Domains whose next question is remembered; policies that ended are swept so many at a time. */
    domainsMax: 10_000,
    sweepRowsMax: 100,
    /** Policies that are kept, some hundred bytes each; one that is sent to is asked for each day. */
    rowsMax: 20_000,
  },
  /** Questions to name servers of which it must be known whether the answer was proven (net/outward/names.ts). */
  dns: {
    /** What fits into a datagram on every path (dnsflagday.net/2020). */
    datagramBytes: 1232,
    recordsMax: 200,
    aliasesMax: 8,
    /** One question to one server, how many of them are asked, and how often. */
    questionMs: 3 * second,
    serversMax: 3,
    tries: 2,
    /** Longest time that an answer is remembered. */
    rememberMs: 5 * minute,
  },
  /** TLSA records of hosts that are sent to (RFC 7672). */
  dane: {
    /** Records of one host that are looked at, bytes of one that carries a whole certificate, certificates of a chain. */
    recordsMax: 30,
    wholeBytesMax: 16 * kib,
    chainMax: 10,
    /** Bytes of a record that are told in reports: all of a digest. */
    shownBytesMax: 64,
    hostsMax: 5000,
  },
  /** What is told to other domains once a day (jobs/reports): strangers decide what is counted. */
  report: {
    /** Rows of one domain and day; more are counted together. Characters of one, and of a name in it. */
    rowsMax: 500,
    detailLengthMax: 16_000,
    nameLengthMax: 255,
    signaturesMax: 10,
    /** Domains of one day, and what is gathered, for how long, before it is counted in the store. */
    domainsMax: 5000,
    gatheredMax: 2000,
    gatherMs: second,
    /** Addresses that a domain names, bytes of a packed report (RFC 7489 7.2.1.1 speaks of 10 MiB). */
    addressesMax: 5,
    bytesMax: 10 * mib,
    answerBytesMax: 64 * kib,
    postMs: 30 * second,
    /** How long after the day it is posted again to who does not take it (RFC 8460 5.4), while those who get mail wait. */
    postAgainMs: day,
    /** Subjects looked at in one go, reports made at once, the time over which those of a day leave. */
    subjectsMax: 1000,
    inFlightMax: 2,
    spreadMs: 4 * hour,
    /** After a failure it is tried again, until what it tells is so old. */
    retryMs: hour,
    keepMs: 3 * day,
    /** How long after the day the others wait for one of whom nobody can say whether he agrees to be told. */
    agreementMs: 12 * hour,
    /** Rows counted for the metrics. */
    countMax: 100_000,
  },
  /** Reports that others send about domains of ours (mail/report). */
  arrivedReport: {
    /** Bytes of one as it came and unpacked, elements of it and their depth. */
    packedBytesMax: 2 * mib,
    bytesMax: 16 * mib,
    elementsMax: 200_000,
    depthMax: 20,
    /** Files of one message that are looked at, and names of one zip. */
    filesMax: 3,
    entriesMax: 20,
    /** Rows of one that are kept, those that count most; characters of a text in it. */
    rowsMax: 200,
    textLengthMax: 255,
    /** Reports of one domain, for how long, and how much later than now the day of one may begin: clocks differ. */
    keptMax: 5000,
    keepMs: 365 * day,
    aheadMs: day,
  },
  /** Mail that came back (mail/report/bounce.ts). */
  bounce: {
    /** Bytes of one that are read: what is said stands before what came back. */
    bytesMax: 256 * kib,
    /** Parts that are looked at, characters of each text, lines of a letter and their length. */
    partsMax: 20,
    textBytesMax: 64 * kib,
    linesMax: 1000,
    lineLengthMax: 500,
    /** Recipients of one report. */
    recipientsMax: 100,
    /** Messages of an account in an hour that are read for it; what is more is delivered and nothing else. */
    hourMax: 500,
    /** Newest messages of an account among which the one that came back is looked for by Message-ID. */
    amongMax: 2000,
    /** Addresses are no longer than this (RFC 5321 4.5.3.1.3). */
    addressLengthMax: 320,
  },
  /** How much accounts send (actors/sending/allowance.ts). */
  allowance: {
    /** Window in which recipients are counted for a burst. */
    burstMs: 10 * minute,
    /** Days of which the busiest windows are known, and how many of them must have been as busy for that to be usual. */
    knownMs: 30 * day,
    usualDays: 3,
    /** After somebody let it go on an account is not paused for a burst again for so long. */
    trustMs: day,
    /** Peaks are noted anew when they have risen by this factor. */
    notedFactor: 1.2,
    /** An own limit of a day that an operator gave allows this part of it at once. */
    ownPart: 0.1,
    /** Part of the day's limit from which on an account is warned. */
    warnPart: 0.8,
    pausedShownMax: 1000,
    /** Of those who look after a domain, who get a letter about one of its accounts. */
    keepersMax: 20,
  },
  /** Addresses that are not tried for a while (store/sending/suppression.ts). */
  suppression: {
    /** Addresses of one account, and of the service. */
    accountMax: 5000,
    serviceMax: 50_000,
    /** How long it is remembered after its end that an address was gone, so that it waits longer the next time. */
    rememberMs: 90 * day,
    sweepRowsMax: 1000,
    /** How long an address may be left out by hand. */
    longestMs: 3650 * day,
    countMax: 10_000,
  },
  /** Forwards whose target refuses (store/sending/forward-trouble.ts). */
  forwardTrouble: {
    /** Between two reports of one target, where what was forwarded is kept here, too. */
    toldMs: day,
    /** A target that refuses all for so long, and so often, is a matter for its owner; said again after some time. */
    failingMs: 2 * day,
    failuresMin: 3,
    warnMs: 7 * day,
    /** Rows of targets that nothing went to for so long are forgotten. */
    forgetMs: 30 * day,
    sweepRowsMax: 1000,
    shownMax: 100,
    countMax: 10_000,
  },
  /** Reports about TLS (RFC 8460). */
  tlsReport: {
    /** Records or lines of one policy, and characters of what went wrong. */
    stringsMax: 30,
    reasonLengthMax: 200,
  },
  outbound: {
    /** Transactions at once, to everybody and to one destination (a domain, or the relay). */
    inFlightMax: 100,
    /** Transactions that take longer hold nobody's place, so many of them. */
    lateMs: 20 * second,
    lateMax: 200,
    destinationsMax: 200,
    destinationInFlightMax: 10,
    /** Destinations of which something is remembered. */
    destinationsKeptMax: 5000,
    /** Recipients of one transaction (RFC 5321 4.5.3.1.8). */
    recipientsMax: 100,
    /** Waiting recipients counted for the metrics; more says no more. The count is made anew after this. */
    countMax: 10_000,
    figuresMs: 5 * second,
    /** Due targets that are looked at in one go. */
    aheadMax: 500,
    /** Messages over one connection, and how long it is kept without work. */
    connectionMessagesMax: 100,
    connectionIdleMs: 5 * second,
    connectionsMax: 200,
    /** Hosts of one domain that are tried, and how long their names are remembered. */
    hostsMax: 5,
    /** Hosts of one domain that may put a message off before it waits (RFC 5321 5.1: two at least). */
    answersMax: 2,
    routeMs: 5 * minute,
    routesMax: 5000,
    connectMs: 30 * second,
    /** From there until nothing is left to say before a message: greeting, TLS and login together (RFC 5321 4.5.3.2.1 waits so long for one answer). */
    sessionMs: 5 * minute,
    /** Silence within a session: so long at least before the answer to a message, which may have arrived (RFC 5321 4.5.3.2.6). */
    replyMs: 10 * minute,
    /** A whole transaction. */
    transactionMs: 15 * minute,
    /** HTTP targets: the whole call, and bytes of the message that go into the form's text field. */
    httpMs: 60 * second,
    httpBodyBytesMax: 500 * kib,
    answerBytesMax: 64 * kib,
    /** Wait before a destination whose hosts cannot be reached is tried again with anything. */
    restMs: 30 * second,
    /** Delay after which a sender is told that a message still waits. */
    warnMs: 4 * hour,
    /** Characters of a server's answer that are kept. */
    responseLengthMax: 500,
    /** Bytes of the original that a report carries: all of it up to this, else its header alone. */
    reportBytesMax: 64 * kib,
    /** The same where its sender asked for all of it (RFC 3461 4.3). */
    reportFullBytesMax: 1 * mib,
    /** Messages of the queue among which a Message-ID is looked for, those that are told, and steps of each. */
    traceAmongMax: 20_000,
    tracedMax: 10,
    tracedStepsMax: 1000,
    /** Accounts in which a message is looked for in one go, copies of it that are told, and messages of one thread looked at. */
    traceAccountsMax: 1000,
    tracedCopiesMax: 200,
    traceThreadMax: 1000,
    /** How long a message that is done can be looked up. */
    keepMs: 7 * day,
    sweepMs: 10 * minute,
    sweepRowsMax: 1000,
    /** Received lines of a message that is forwarded; more is a loop. */
    receivedLinesMax: 30,
    /** Keyed loop headers of one message that are looked at. */
    loopHeadersMax: 100,
    /** How long a rewritten sender takes bounces. */
    srsMs: 30 * day,
    /** Messages in a day that go on to one sender who was rewritten: whoever got a forward may have any sent to him. */
    answeredMax: 50,
  },
  /** A service of tests that several processes share. */
  testing: {
    /** Bytes of one value that crosses: the largest mail, and some. */
    frameBytesMax: 128 * mib,
  },
  time: { second, minute, hour, day },
  /** Moments of the years 0 to 9999: others cannot be written as RFC 3339 has it, which is what clients read. */
  date: {
    msMin: Date.UTC(2000, 0) - 2000 * 365.2425 * day,
    msMax: Date.UTC(10_000, 0) - 1,
  },
} as const
